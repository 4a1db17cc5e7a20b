"""The addresses that shoppers, and the machines that read for them, visit."""

from django.urls import path

from dealsite.accounts import sign_in
from dealsite.data.catalogue.relations import (
    BRAND_LIKE,
    BRAND_WATCH,
    CATEGORY_LIKE,
    CATEGORY_WATCH,
    DEAL_LIKE,
)
from shopping import cart, checkout
from shopping.catalogue import machines, pages, search
from shopping.my import relations

sign_in.after_sign_in(pending_action=relations.pending_action, step=cart.merge_visitor_cart)

urlpatterns = [
    path("", pages.front_page, name="front_page"),
    path("search/", search.search, name="search"),
    path("editors-choice/", pages.editors_choice, name="editors_choice"),
    path("about/<str:slug>/", pages.about, name="about"),
    path("brands/", pages.brands, name="brands"),
    path("brands/<str:slug>/", pages.brand, name="brand"),
    path("brands/<str:slug>/like/", relations.add, {"relation": BRAND_LIKE}, name="like_brand"),
    path("brands/<str:slug>/unlike/", relations.remove, {"relation": BRAND_LIKE}, name="unlike_brand"),
    path("brands/<str:slug>/watch/", relations.add, {"relation": BRAND_WATCH}, name="watch_brand"),
    path("brands/<str:slug>/unwatch/", relations.remove, {"relation": BRAND_WATCH}, name="unwatch_brand"),
    path("categories/<str:slug>/", pages.category, name="category"),
    path("categories/<str:slug>/like/", relations.add, {"relation": CATEGORY_LIKE}, name="like_category"),
    path(
        "categories/<str:slug>/unlike/", relations.remove, {"relation": CATEGORY_LIKE}, name="unlike_category"
    ),
    path("categories/<str:slug>/watch/", relations.add, {"relation": CATEGORY_WATCH}, name="watch_category"),
    path(
        "categories/<str:slug>/unwatch/",
        relations.remove,
        {"relation": CATEGORY_WATCH},
        name="unwatch_category",
    ),
    path("deals/<str:deal_id>/", pages.deal, name="deal"),
    path("deals/<str:deal_id>/<str:slug>/", pages.deal, name="deal"),
    path("go/<str:deal_id>/", pages.go, name="go"),
    path("like/<str:slug>/", relations.add, {"relation": DEAL_LIKE}, name="like_deal"),
    path("unlike/<str:slug>/", relations.remove, {"relation": DEAL_LIKE}, name="unlike_deal"),
    path("cart/", cart.cart, name="cart"),
    path("cart/add/", cart.add_to_cart, name="add_to_cart"),
    path("cart/badge/", cart.cart_badge, name="cart_badge"),
    path("cart/quantity/", cart.change_quantity, name="change_quantity"),
    path("cart/remove/", cart.remove_from_cart, name="remove_from_cart"),
    path("cart/undo/", cart.undo_removal, name="undo_removal"),
    path("cart/save/", cart.save_for_later, name="save_for_later"),
    path("cart/move/", cart.move_to_cart, name="move_to_cart"),
    path("cart/changes/", cart.accept_changes, name="accept_changes"),
    path("cart/merge/", cart.merge_cart, name="merge_cart"),
    path("checkout/", checkout.checkout, name="checkout"),
    path("checkout/<str:order_id>/done/", checkout.checkout_done, name="checkout_done"),
    path("deals.atom", machines.front_page_feed, name="front_page_feed"),
    path("brands/<str:slug>/deals.atom", machines.brand_feed, name="brand_feed"),
    path("categories/<str:slug>/deals.atom", machines.category_feed, name="category_feed"),
    path("sitemap.xml", machines.sitemap, name="sitemap"),
    path("sitemaps/pages.xml", machines.sitemap_pages, name="sitemap_pages"),
    path("sitemaps/brands-<int:number>.xml", machines.sitemap_brands, name="sitemap_brands"),
    path("sitemaps/deals-<str:day>.xml", machines.sitemap_day, name="sitemap_day"),
    path("robots.txt", machines.robots, name="robots"),
    path(".well-known/security.txt", machines.security_txt, name="security_txt"),
]
