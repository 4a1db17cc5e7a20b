"""The addresses of the oscar site: its own, but for the three lists, which ask PostgreSQL instead of a search engine.

They show oscar's templates, with the products as oscar's own index reads them, and no facets.
"""

from types import SimpleNamespace

from django.apps import apps
from django.conf import settings
from django.db.models import BooleanField
from django.db.models.expressions import RawSQL
from django.shortcuts import get_object_or_404
from django.urls import include, path, re_path
from django.views.generic import ListView
from oscar.core.loading import get_class, get_model

Product, Category = get_model("catalogue", "Product"), get_model("catalogue", "Category")
BrowseCategoryForm = get_class("search.forms", "BrowseCategoryForm")


class Catalogue(ListView):
    template_name = "oscar/catalogue/browse.html"
    paginate_by = settings.OSCAR_PRODUCTS_PER_PAGE

    def get_queryset(self):
        return Product.objects.browsable().base_queryset()

    def get_context_data(self, **kwargs):
        context = super().get_context_data(**kwargs)
        page = context["page_obj"]
        page.object_list = [SimpleNamespace(object=one) for one in page.object_list]
        return context | {
            "form": BrowseCategoryForm(self.request.GET),
            "page": page,
            "products": page.object_list,
            "summary": "All products",
        }


class CategoryList(Catalogue):
    template_name = "oscar/catalogue/category.html"

    def get_queryset(self):
        self.category = get_object_or_404(Category, pk=self.kwargs["pk"])
        return super().get_queryset().filter(categories__in=self.category.get_descendants_and_self())

    def get_context_data(self, **kwargs):
        return super().get_context_data(**kwargs) | {"category": self.category}


class Search(Catalogue):
    """By PostgreSQL's full text search, in a column of its own that has an index."""

    template_name = "oscar/search/results.html"

    def get_queryset(self):
        words = [self.request.GET["q"]]
        found = RawSQL("words @@ plainto_tsquery('english', %s)", words, BooleanField())
        rank = RawSQL("ts_rank(words, plainto_tsquery('english', %s))", words)
        return super().get_queryset().filter(found).order_by(rank.desc(), "-date_created")

    def get_context_data(self, **kwargs):
        return super().get_context_data(**kwargs) | {"query": self.request.GET["q"]}


urlpatterns = [
    path("catalogue/", Catalogue.as_view()),
    re_path(r"^catalogue/category/[\w/-]+_(?P<pk>\d+)/$", CategoryList.as_view()),
    path("search/", Search.as_view()),
    path("i18n/", include("django.conf.urls.i18n")),
    path("", include(apps.get_app_config("oscar").urls[0])),
]
