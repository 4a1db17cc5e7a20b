"""The addresses that shoppers, and the machines that read for them, visit."""

from django.urls import path

from shopping import adding, atom, carts, checkout, likes, search, sitemaps, views, watches

urlpatterns = [
    path("", views.front_page, name="front_page"),
    path("search/", search.search, name="search"),
    path("editors-choice/", views.editors_choice, name="editors_choice"),
    path("brands/", views.brands, name="brands"),
    path("brands/<str:slug>/", views.brand, name="brand"),
    path("brands/<str:slug>/like/", likes.like_brand, name="like_brand"),
    path("brands/<str:slug>/unlike/", likes.unlike_brand, name="unlike_brand"),
    path("brands/<str:slug>/watch/", watches.watch_brand, name="watch_brand"),
    path("brands/<str:slug>/unwatch/", watches.unwatch_brand, name="unwatch_brand"),
    path("categories/<str:slug>/", views.category, name="category"),
    path("categories/<str:slug>/like/", likes.like_category, name="like_category"),
    path("categories/<str:slug>/unlike/", likes.unlike_category, name="unlike_category"),
    path("categories/<str:slug>/watch/", watches.watch_category, name="watch_category"),
    path("categories/<str:slug>/unwatch/", watches.unwatch_category, name="unwatch_category"),
    path("deals/<str:deal_id>/", views.deal, name="deal"),
    path("deals/<str:deal_id>/<str:slug>/", views.deal, name="deal"),
    path("cart/", carts.cart, name="cart"),
    path("cart/add/", adding.add_to_cart, name="add_to_cart"),
    path("cart/badge/", carts.cart_badge, name="cart_badge"),
    path("cart/quantity/", carts.change_quantity, name="change_quantity"),
    path("cart/remove/", carts.remove_from_cart, name="remove_from_cart"),
    path("cart/undo/", adding.undo_removal, name="undo_removal"),
    path("cart/save/", carts.save_for_later, name="save_for_later"),
    path("cart/move/", carts.move_to_cart, name="move_to_cart"),
    path("cart/changes/", carts.accept_changes, name="accept_changes"),
    path("cart/merge/", carts.merge_cart, name="merge_cart"),
    path("checkout/", checkout.checkout, name="checkout"),
    path("checkout/<str:order_id>/done/", checkout.checkout_done, name="checkout_done"),
    path("deals.atom", atom.front_page_feed, name="front_page_feed"),
    path("brands/<str:slug>/deals.atom", atom.brand_feed, name="brand_feed"),
    path("categories/<str:slug>/deals.atom", atom.category_feed, name="category_feed"),
    path("sitemap.xml", sitemaps.sitemap, name="sitemap"),
    path("sitemaps/pages.xml", sitemaps.sitemap_pages, name="sitemap_pages"),
    path("sitemaps/brands.xml", sitemaps.sitemap_brands, name="sitemap_brands"),
    path("sitemaps/deals-<str:day>.xml", sitemaps.sitemap_day, name="sitemap_day"),
    path("robots.txt", sitemaps.robots, name="robots"),
]
