"""Brands and categories: their lists, texts and pictures; brands named in a form, new ones, and merging two."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Generic, Protocol

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.text import get_text_list
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.vary import vary_on_headers

from cms.bulk_form import total_of
from cms.jobs import row as job_row
from cms.lists.deal_list import query
from cms.shared.edit_form import Show
from cms.shared.forms import BrandForm, CategoryForm, DealForm, typed_texts
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import editors
from dealsite.data.catalogue import brand_merges, brands, categories
from dealsite.data.catalogue.brands import LETTERS, Brand, BrandName
from dealsite.data.catalogue.cards import Picture
from dealsite.data.catalogue.categories import Entry, Kind, Stored
from dealsite.data.catalogue.content import DealContent
from dealsite.data.catalogue.display_names import BrandNames, CategoryNames, brand_names, category_names
from dealsite.data.catalogue.lists import DealFilter
from dealsite.data.entities.deals import NAME_CHARACTERS
from dealsite.data.names import slugify
from dealsite.data.table.errors import AlreadyExists, Conflict, Invalid, NotFound, Text
from dealsite.search.brands import brands_like, brands_near
from dealsite.web.uploads import PICTURE_FORM, takes_files
from dealsite.worker.exports import every, exported, in_batches

MOST_NAMES = 20
MOST_MEANT = 3  # that an error asks about


def named_content(form: DealForm) -> tuple[DealContent, Brand | None]:
    """Return what a checked form holds, and its brand. Costs what `find_brand` does."""
    brand = find_brand(form)
    return form.content(brand.slug if brand else slugify(form.cleaned_data.get("brand", ""))), brand


def find_brand(form: DealForm) -> Brand | None:
    """Return the brand that a checked form names; None if it names none or a new one. 1 get, and up to 2 batch gets.

    The name that is stored means the brand that is: what nobody touched stays, whatever else has that name.
    What cannot be a brand, or is unknown and not marked as new, becomes an error of the form; the first brand of a
    site needs no mark. Of an unknown name 1 query more.
    """
    name = form.cleaned_data.get("brand", "")
    if not name:
        return None
    if not slugify(name):
        form.add_error("brand", _("The name of a brand needs a letter or a digit."))
        return None
    known = {form.entry.card.brand_name: form.entry.content.brand} if form.entry else {}
    if form.kept:
        known |= {form.kept.brand_name: form.kept.content.brand}
    try:
        return brands.named(known.get(name) or name)
    except NotFound:
        if not form.cleaned_data.get("brand_new") and brands.names(size=1).rows:
            form.add_error("brand", _refusal(name, brands_near(name)))
        return None


def _refusal(name: str, near: list[BrandName]) -> str:
    """Return what is said of a name that no brand has."""
    error = _("There is no brand “%(name)s”. Choose another, or create it.")
    if near:
        error = _("There is no brand “%(name)s”. Did you mean %(near)s? Choose one, or create it.")
    meant = [_("“%(name)s”") % {"name": brand.name} for brand in near[:MOST_MEANT]]
    return error % {"name": name, "near": get_text_list(meant, _("or"))}


def create_brand(form: DealForm, *, by: str, now: datetime) -> Brand:
    """Create the brand that a form names as new; if somebody was faster, return that one. 1 transaction."""
    name = form.cleaned_data["brand"]
    try:
        return brands.create(name, by=by, now=now)
    except AlreadyExists:
        return brands.named(name)


@editors.part("1 query")
def brand_name_list(request: EditorRequest) -> HttpResponse:
    """The brands that go with what an editor has typed so far, as options; of a deal, a new one, too."""
    text = (request.GET.get("to_brand") or request.GET.get("brand", ""))[:NAME_CHARACTERS].strip()
    typed = slugify(text)
    found = brands_like(text if typed else "", size=MOST_NAMES).rows
    is_known = bool(typed and brands.named_by([typed]))
    near = [brand for brand in brands_near(text) if brand not in found] if typed and not is_known else []
    new = text if typed and not is_known and request.GET.get("create") else ""
    context = {"found": [*found, *near][:MOST_NAMES], "near": near, "new": new}
    return render(request, "cms/taxonomy/_brand_names.html", context)


BRANDS_A_PAGE = 50


class TextsData(Protocol[Stored]):
    """The module of brands, or of categories."""

    def get(self, slug: str) -> Stored: ...
    def get_with_counts(self, slug: str) -> Stored: ...
    def edit(
        self,
        entry: Stored,
        /,
        *,
        name: str,
        also: Iterable[str] | None,
        description: str,
        logo: Picture | None,
        by: str,
        now: datetime,
    ) -> Stored: ...


@dataclass(frozen=True)
class TextsPage(Generic[Stored]):
    """The page of a brand, or a category: how its names are known, and what is said of a change and of a new name."""

    kind: Kind
    form: type[BrandForm]
    data: TextsData[Stored]
    names: BrandNames | CategoryNames
    saved: Text
    renamed: Text

    def answer(self, request: EditorRequest, slug: str) -> HttpResponse:
        """Show the form, or change what it says."""
        if request.method == "POST":
            form = self.form.posted(request.POST, request.FILES)
            show = partial(self.show, request, form, slug)
            return form.save(lambda: self._change(request, form, slug, show), show)
        stored = self.data.get_with_counts(slug)
        if _is_merged(stored):
            return redirect("cms_merge_brand", slug)
        opened = self.form.opened(typed_texts(stored), stored.version)
        opened.entry = stored
        return self.show(request, opened, slug)

    def _change(self, request: EditorRequest, form: BrandForm, slug: str, show: Show) -> HttpResponse:
        form.entry = stored = self.data.get_with_counts(slug)
        if _is_merged(stored):
            return redirect("cms_merge_brand", slug)
        theirs = typed_texts(stored)
        form.take_chosen(theirs)
        if not form.is_valid():
            return show(status=422)
        if not form.settle(theirs, stored.version):
            return show(status=409)
        if form.differs_from(theirs):
            by, now = request.user.username, timezone.now()
            edited = self.data.edit(stored, **form.texts(), by=by, now=now)
            self.names.forget()
            said = self.saved if edited.name == stored.name else self.renamed
            messages.success(request, str(said) + form.also_said(_("somebody else")))
        return redirect(f"cms_{self.kind}", slug)

    def show(
        self, request: EditorRequest, form: BrandForm, slug: str = "", *, status: int = 200, trouble: str = ""
    ) -> HttpResponse:
        """The form; without a slug, of a new brand."""
        page = {"kind": self.kind, "form": form, "entry": form.entry, "slug": slug, "trouble": trouble}
        page["name"] = category_names.names().get(slug, "")
        return render(request, f"cms/taxonomy/{self.kind}.html", page, status=status)


def _is_merged(stored: Entry) -> bool:
    return isinstance(stored, Brand) and bool(stored.merged_into)


BRAND_PAGE = TextsPage(
    "brand",
    BrandForm,
    brands,
    brand_names,
    saved=gettext_lazy("The brand is saved."),
    renamed=gettext_lazy("The brand is renamed. Its deals show the new name in a moment."),
)
CATEGORY_SAVED = gettext_lazy("The category is saved.")
CATEGORY_PAGE = TextsPage(
    "category", CategoryForm, categories, category_names, CATEGORY_SAVED, CATEGORY_SAVED
)


def _brand_filter(query: QueryDict) -> dict[str, str]:
    letter = query.get("letter", "")
    return {"typed": query.get("q", "")[:100], "letter": letter if letter in LETTERS else ""}


def _with_deals(shown: list[BrandName]) -> list[tuple[BrandName, int]]:
    """Return brands with the number of deals of each. 1 batch get for each 100."""
    counts = brands.counts(brand.slug for brand in shown) if shown else {}
    return [(brand, counts[brand.slug].deals if brand.slug in counts else 0) for brand in shown]


def _all_brand_rows(query: QueryDict, now: datetime) -> Iterator[dict[str, object]]:
    for some in in_batches(every(partial(brands_like, **_brand_filter(query), size=BRANDS_A_PAGE))):
        for brand, number in _with_deals(some):
            yield {"slug": brand.slug, "name": brand.name, "deals": number}


@editors.page("1 query + 1 batch get")
@vary_on_headers("HX-Request")
@exported(gettext_lazy("Brands"), "short_name=slug, name, deals", _all_brand_rows)
def brand_list(request: EditorRequest) -> HttpResponse:
    """Brands from A to Z, by letter or by a part of the name, with the number of deals of each."""
    asked = _brand_filter(request.GET)
    after, before = request.GET.get("after"), request.GET.get("before")
    page = brands_like(**asked, after=after, before=before, size=BRANDS_A_PAGE)
    chosen = {"q": asked["typed"]} if asked["typed"] else {"letter": asked["letter"]}
    context = {
        "rows": _with_deals(page.rows),
        "letters": LETTERS,
        "letter": asked["letter"],
        "text": asked["typed"],
        "before": page.before and query(chosen | {"before": page.before}),
        "after": page.after and query(chosen | {"after": page.after}),
    }
    template = "cms/taxonomy/_brand_rows.html" if request.htmx else "cms/taxonomy/brands.html"
    return render(request, template, context)


@takes_files(PICTURE_FORM)
@editors.form("none")
def new_brand(request: EditorRequest) -> HttpResponse:
    """A new brand."""
    if request.method != "POST":
        typed = {"name": request.GET.get("name", "")[:80]}
        return BRAND_PAGE.show(request, BrandForm.opened(typed, version=0))
    form = BrandForm.posted(request.POST, request.FILES)
    show = partial(BRAND_PAGE.show, request, form)
    return form.save(lambda: _create(request, form, show), show)


def _create(request: EditorRequest, form: BrandForm, show: Show) -> HttpResponse:
    if not form.is_valid():
        return show(status=422)
    try:
        brand = brands.create(**form.texts(), by=request.user.username, now=timezone.now())
    except AlreadyExists:
        return _taken(request, form)
    messages.success(request, _("The brand %(name)s is created.") % {"name": brand.name})
    return redirect("cms_brand", brand.slug)


def _taken(request: EditorRequest, form: BrandForm) -> HttpResponse:
    """A second click finds the brand that the first has made; another brand of this name is an error."""
    there = brands.named(form.cleaned_data["name"])
    if not form.differs_from(typed_texts(there)):
        return redirect("cms_brand", there.slug)
    text = _("There is a brand %(name)s already. Choose another name, or edit that brand.")
    form.add_error("name", text % {"name": there.name})
    return BRAND_PAGE.show(request, form, status=409)


@takes_files(PICTURE_FORM)
@editors.form("1 batch get")
def brand(request: EditorRequest, slug: str) -> HttpResponse:
    """One brand: its name, text and logo."""
    return BRAND_PAGE.answer(request, slug)


@editors.page("1 batch get")
@exported(
    gettext_lazy("Categories"),
    "short_name=slug, name, deals",
    lambda query, now: (
        {"slug": one.slug, "name": one.name, "deals": one.deals or 0} for one in categories.all_categories()
    ),
)
def category_list(request: EditorRequest) -> HttpResponse:
    """The categories with the number of deals of each."""
    return render(request, "cms/taxonomy/categories.html", {"categories_edited": categories.all_categories()})


@takes_files(PICTURE_FORM)
@editors.form("1 batch get")
def category(request: EditorRequest, slug: str) -> HttpResponse:
    """One category: its name, text and picture."""
    return CATEGORY_PAGE.answer(request, slug)


@editors.page(
    "1 batch get or 1 batch get + 1 get",
    at=("", "?brand=Others", "/cms/brands/others/merge/?brand=Nordlicht"),
)
@vary_on_headers("HX-Request")
def merge_brand(request: EditorRequest, slug: str) -> HttpResponse:
    """Choose the other brand and see what will move; of a brand that is being merged, how far that has come."""
    now, brand = timezone.now(), brands.get_with_counts(slug)
    moves = brand_merges.moving(brand)
    context: dict[str, Any] = {
        "brand": brand,
        "into": brand_names.names([brand.merged_into])[brand.merged_into] if brand.merged_into else "",
        "moves": [(one, job_row(one.job, now)) for one in moves],
        "busy": not all(one.is_over for one in moves),
        "may_undo": brand_merges.may_be_undone(brand, now),
        "typed": (typed := request.GET.get("brand", "").strip()[:200]),
        "here": request.get_full_path(),
    }
    if request.htmx and not request.htmx.boosted:
        return render(request, "cms/taxonomy/_brand_moves.html", context)
    if typed and not brand.merged_into:
        try:
            context["other"] = other = brands.named(typed)
            context["names"] = brand_merges.names_together(brand, other)
            context["drafts"], _how = total_of(DealFilter(state="draft", brand=slug), now)
        except (NotFound, Conflict, Invalid) as error:
            context["error"] = str(error)
    return render(
        request, "cms/taxonomy/merge_brand.html", context, status=422 if "error" in context else 200
    )


@editors.action
def start_merge(request: EditorRequest, slug: str) -> HttpResponse:
    """Merge a brand into the one that was shown, and lead to the page that says how far that has come."""
    brand = brands.get_with_counts(slug)
    try:
        if brand.merged_into != request.POST.get("into"):
            into = brands.get_with_counts(request.POST.get("into", ""))
            brand_merges.merge(brand, into, by=request.user.username, now=timezone.now())
    except (Conflict, Invalid) as error:
        messages.warning(request, str(error))
    brand_names.forget()
    return redirect("cms_merge_brand", slug)


@editors.action
def undo_merge(request: EditorRequest, slug: str) -> HttpResponse:
    """Give a brand its names and address back, and what was moved and not changed since."""
    try:
        brand_merges.undo(brands.get_with_counts(slug), by=request.user.username, now=timezone.now())
        messages.success(request, _("The merge is undone. The brand's deals come back in a moment."))
    except Conflict as error:
        messages.warning(request, str(error))
    brand_names.forget()
    return redirect("cms_merge_brand", slug)
