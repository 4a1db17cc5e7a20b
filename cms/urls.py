"""Every address under /cms/."""

from django.urls import path

from cms import brands, categories, deal_list, deals, drafts, featured, home, named_brands, users

urlpatterns = [
    path("", home.home, name="cms_home"),
    path("deals/", deal_list.deal_list, name="cms_deals"),
    path("deals/find/", deal_list.find_deal, name="cms_find_deal"),
    path("deals/new/", drafts.new_draft, name="cms_new_draft"),
    path("deals/preview/", deals.preview_description, name="cms_preview_description"),
    path("deals/<str:deal_id>/", deals.deal, name="cms_deal"),
    path("deals/<str:deal_id>/reschedule/", deals.reschedule_deal, name="cms_reschedule_deal"),
    path("deals/<str:deal_id>/expire/", deals.expire_deal, name="cms_expire_deal"),
    path("deals/<str:deal_id>/delete/", deals.delete_deal, name="cms_delete_deal"),
    path("drafts/<str:draft_id>/", drafts.draft, name="cms_draft"),
    path("drafts/<str:draft_id>/delete/", drafts.delete_draft, name="cms_delete_draft"),
    path("brands/", brands.brand_list, name="cms_brands"),
    path("brands/new/", brands.new_brand, name="cms_new_brand"),
    path("brands/names/", named_brands.brand_names, name="cms_brand_names"),
    path("brands/<str:slug>/", brands.brand, name="cms_brand"),
    path("categories/", categories.category_list, name="cms_categories"),
    path("categories/<str:slug>/", categories.category, name="cms_category"),
    path("featured/", featured.featured_pages, name="cms_featured"),
    path("featured/<str:page_id>/", featured.featured_page, name="cms_featured_page"),
    path("users/", users.user_list, name="cms_users"),
    path("users/<str:username>/", users.user, name="cms_user"),
    path("users/<str:username>/give-role/", users.give_role, name="cms_give_role"),
    path("users/<str:username>/take-role/", users.take_role, name="cms_take_role"),
]
