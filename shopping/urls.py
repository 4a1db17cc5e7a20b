"""The addresses that shoppers, and the machines that read for them, visit."""

from django.urls import path

from shopping import atom, sitemaps, views

urlpatterns = [
    path("", views.front_page, name="front_page"),
    path("editors-choice/", views.editors_choice, name="editors_choice"),
    path("brands/", views.brands, name="brands"),
    path("brands/<str:slug>/", views.brand, name="brand"),
    path("categories/<str:slug>/", views.category, name="category"),
    path("deals/<str:deal_id>/", views.deal, name="deal"),
    path("deals/<str:deal_id>/<str:slug>/", views.deal, name="deal"),
    path("deals.atom", atom.front_page_feed, name="front_page_feed"),
    path("brands/<str:slug>/deals.atom", atom.brand_feed, name="brand_feed"),
    path("categories/<str:slug>/deals.atom", atom.category_feed, name="category_feed"),
    path("sitemap.xml", sitemaps.sitemap, name="sitemap"),
    path("sitemaps/pages.xml", sitemaps.sitemap_pages, name="sitemap_pages"),
    path("sitemaps/brands.xml", sitemaps.sitemap_brands, name="sitemap_brands"),
    path("sitemaps/deals-<str:day>.xml", sitemaps.sitemap_day, name="sitemap_day"),
    path("robots.txt", sitemaps.robots, name="robots"),
]
