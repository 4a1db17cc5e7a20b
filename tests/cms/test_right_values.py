"""Right values of what people reported of products such as this one: names, text, imports, and what forms keep."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from cms.lists import list_address
from dealsite.data import keys, table
from dealsite.data.catalogue import brands, categories, deals, drafts, featured, lists
from dealsite.data.catalogue.display_names import brand_names
from dealsite.data.catalogue.lists import DealFilter
from dealsite.data.editing import pending_edits
from dealsite.data.names import is_slug, slugify
from dealsite.data.table import errors
from dealsite.data.table.ids import time_of
from dealsite.data.table.writes import Put
from dealsite.web import page_cache
from tests.builders import (
    DAY,
    EDITOR,
    NOW,
    all_brands,
    make_category,
    make_content,
    make_deal,
    make_draft,
    make_id,
)
from tests.cms.conftest import HTMX, do, inputs, said
from tests.cms.imports.test_imports import check, go, private, text, upload, work
from tests.imports.builders import make_row, run_import, write_csv
from tests.jobs import run_next

__all__ = ["private"]  # the folder of the files that tests of imports upload


@pytest.fixture
def renamed():
    """A deal of the brand Altname, which is called Neuname now, on the list but not yet on the deal's card."""
    deal = make_deal(brand="Altname", title="Lampe")
    rename(brands.get("altname"), "Neuname")
    return deal


def rename(brand, name, **changes):
    options = {"description": brand.description, "logo": None, "by": EDITOR, "now": NOW} | changes
    changed = brands.edit(brand, name=name, **options)
    brand_names.forget()
    return changed


def make_twin():
    """Add a brand whose slug is that of another's name, as it could be made before names were looked up."""
    texts = {"slug": "neuname", "name": "Neuname", "description": "", "version": 1, "type": "Brand"}
    table.write(Put(key=keys.brand("neuname"), item=texts | {"last_edit": "0" * 26}))


def save(browser, deal, **typed):
    address = reverse("cms_deal", args=[deal.id])
    return browser.post(address, inputs(browser.get(address)) | typed)


def test_a_form_that_was_not_touched_keeps_its_brand(editor, renamed):
    """A1: saved, kept as a draft, saved by itself, published from a draft; a twin of the name changes nothing."""
    make_twin()
    assert save(editor, renamed, price="5").status_code == 302
    stored = deals.get(renamed.id)
    assert (stored.content.brand, str(stored.content.price)) == ("altname", "5.00")
    assert stored.card.brand_name == "Neuname"
    assert save(editor, renamed, price="6", action="keep").status_code == 302
    assert pending_edits.find(deals.get(renamed.id)).content.brand == "altname"
    form = inputs(editor.get(reverse("cms_deal", args=[renamed.id]) + "?changes=1"))
    answer = editor.post(
        reverse("cms_autosave", args=["deal", renamed.id]), form | {"price": "7"}, headers=HTMX
    )
    assert answer.status_code == 200, answer.json()
    assert pending_edits.find(deals.get(renamed.id)).content.brand == "altname"

    draft = make_draft(**vars(make_content(brand="altname")))
    address = reverse("cms_draft", args=[draft.id])
    assert editor.post(address, inputs(editor.get(address)) | {"action": "publish"}).status_code == 302
    published = deals.get(drafts.get(draft.id).published_as)
    assert (published.content.brand, published.card.brand_name) == ("altname", "Neuname")


@pytest.mark.parametrize("typed", ["Neuname", "NEUNAME", "Altname", "altname"])
def test_any_name_finds_the_brand(editor, renamed, typed):
    """A2: in a new deal, suggestions, the list's filter, the search of brands, changes of many, the palette."""
    post = {"title": "Neu", "brand": typed, "category": "peripherals-networking", "price": "1"}
    post |= {"link": "https://shop.example/neu", "action": "publish", "version": "0"}
    editor.post(reverse("cms_draft", args=[make_id(NOW)]), post)
    found = lists.cms_list(DealFilter("all", "altname"), now=NOW).cards
    assert {card.title for card in found} == {"Lampe", "Neu"}
    names = reverse("cms_brand_names")
    assert re.findall('data-value="([^"]+)"', editor.get(names, {"brand": typed[:4]}).text) == ["Neuname"]
    listed = editor.get(reverse("cms_deals"), {"brand": typed})
    assert {row.card.title for row in listed.context["deals"]} == {"Lampe", "Neu"}
    assert "Neuname" in editor.get(reverse("cms_brands"), {"q": typed}).text
    assert said(do(editor, "brand", renamed, to_brand=typed)) == "It is of this brand already."
    palette = editor.get(reverse("cms_palette"), {"q": typed}, headers=HTMX).text
    assert reverse("cms_brand", args=["altname"]) in palette


@pytest.mark.parametrize("typed", ["Neuname", "Altname"])
def test_search_finds_a_brands_deals_by_any_name(editor, renamed, search_index, typed):
    """Both before its deals show the new name and afterwards."""
    for _ in range(2):
        search_index()
        for address in (reverse("cms_deals"), reverse("search")):
            assert "Lampe" in editor.get(address, {"q": typed}).text, address
        while run_next(now=NOW):
            pass


def test_an_import_finds_the_brand_by_any_name(tmp_path, renamed):
    """A3: nothing is new, and the deals stand under the brand's slug."""
    path = write_csv(tmp_path, [make_row(1, brand="Neuname"), make_row(2, brand="ALTNAME")])
    make_category("home-furniture")
    for options in ({"dry_run": True}, {}):
        totals, remarks, _ = run_import(path, **options)
        assert (totals.imported, totals.brands, remarks) == (2, 0, [])
    found = lists.cms_list(DealFilter("all", "altname"), now=NOW).cards
    assert {card.title: card.brand_name for card in found} == {
        "Lamp 1": "Neuname",
        "Lamp 2": "Neuname",
        "Lampe": "Altname",
    }


def test_no_name_is_given_to_two_brands(editor, renamed):
    """Neither a new brand nor a renamed one takes a name that finds another; the page says which."""
    answer = editor.post(reverse("cms_new_brand"), {"name": "Neuname", "description": "Mine"})
    assert (answer.status_code, inputs(answer)["description"]) == (409, "Mine")
    answer = editor.post(reverse("cms_new_brand"), {"name": "Frisch", "also": "Vela\nneuname"})
    assert answer.status_code == 422
    assert "The name neuname finds “Neuname” already." in answer.text
    for name in ("Neuname", "ALTNAME"):
        address = reverse("cms_brand", args=["nordlicht"])
        answer = editor.post(address, inputs(editor.get(address)) | {"name": name})
        assert answer.status_code == 422
        assert f"The name {name} finds “Neuname” already." in answer.text
    assert {brand.slug for brand in all_brands()} == {"altname", "nordlicht"}


def test_other_names_can_be_added_and_taken_away(editor, renamed):
    address = reverse("cms_brand", args=["altname"])
    form = inputs(editor.get(address))
    assert form["also"].split() == ["Altname"]
    editor.post(address, form | {"also": "Altname\nÄltername\n\nältername"})
    assert brands.named("Ältername").slug == "altname"
    assert brands.get("altname").also == ("Altname", "ältername")
    editor.post(address, inputs(editor.get(address)) | {"also": ""})
    with pytest.raises(errors.NotFound):
        brands.named("Ältername")
    rename(brands.get("altname"), "Altname")
    assert brands.get("altname").also == ("Neuname",)
    too_many = "\n".join(f"Name {n}" for n in range(21))
    answer = editor.post(address, inputs(editor.get(address)) | {"also": too_many})
    assert (answer.status_code, "Keep at most 20 other names." in answer.text) == (422, True)


def test_the_shop_leads_from_other_names_to_the_brand(renamed):
    visitor = Client()
    for path in ("/brands/neuname/", "/brands/Neuname/"):
        answer = visitor.get(path)
        assert (answer.status_code, answer["Location"]) == (301, "/brands/altname/")
    assert visitor.get(reverse("brand_feed", args=["neuname"]))["Location"] == reverse(
        "brand_feed", args=["altname"]
    )
    assert visitor.get("/brands/frischname/").status_code == 404


def test_the_list_of_brands_is_sorted_by_names(renamed):
    assert [(brand.letter, brand.name) for brand in all_brands()] == [("N", "Neuname"), ("N", "Nordlicht")]


@pytest.fixture
def wohnen(editor):
    """A category that was renamed in the CMS."""
    categories.create_all()
    address = reverse("cms_category", args=["home-furniture"])
    editor.post(address, inputs(editor.get(address)) | {"name": "Wohnen & Garten"})
    return address


def test_a_renamed_category_is_taken_and_shown_everywhere(editor, wohnen, tmp_path):
    """A14: by imports under each of its names, in the forms of deals and imports, on featured pages."""
    rows = [
        make_row(n, category=name)
        for n, name in enumerate(("wohnen & garten", "Home & Furniture", "home-furniture"))
    ]
    totals, remarks, _ = run_import(write_csv(tmp_path, rows))
    assert (totals.imported, remarks) == (3, [])
    deal = make_deal(category="home-furniture")
    for address in (
        reverse("cms_deal", args=[deal.id]),
        reverse("cms_featured"),
        reverse("cms_featured_page", args=["home-furniture"]),
        reverse("cms_deals"),
        reverse("cms_categories"),
    ):
        page = editor.get(address).text
        assert "Wohnen &amp; Garten" in page, address
        assert "Home &amp; Furniture" not in page.replace("Home &amp; Furniture</textarea>", ""), address
    assert featured.get("home-furniture").title == "Wohnen & Garten"


def test_no_name_is_given_to_two_categories(editor, wohnen):
    address = reverse("cms_category", args=["toys-hobbies"])
    taken = {"Wohnen & Garten": "Wohnen & Garten", "Home & Furniture": "Wohnen & Garten"}
    for name, other in (taken | {"office software": "Office & Software"}).items():
        answer = editor.post(address, inputs(editor.get(address)) | {"name": name})
        assert answer.status_code == 422, name
        assert f"The name {name} finds “{other}” already." in answer.text.replace("&amp;", "&")


def test_html_in_a_description_becomes_what_it_means(editor, tmp_path):
    """A10: imported, or typed into a form; the page and the meta description say it."""
    html = "<p>New design.</p><ul><li>Gold</li></ul>"
    make_category("home-furniture")
    run_import(write_csv(tmp_path, [make_row(1, description=html)]))
    (card,) = lists.cms_list(DealFilter(), now=NOW).cards
    page = Client().get(reverse("deal", args=[card.id, card.slug])).text
    assert "<p>New design.</p>\n<ul>\n<li>Gold</li>\n</ul>" in page
    assert '<meta name="description" content="New design. Gold">' in page
    assert save(editor, deals.get(card.id), description=f"{html}<p>More</p>").status_code == 302
    assert deals.get(card.id).content.description == "New design.\n\n- Gold\n\nMore"


def test_what_a_document_pastes_is_turned_into_markdown(editor):
    address = reverse("cms_markdown")
    answer = editor.post(address, {"html": "<meta charset=utf-8>A &amp; <b>B</b>"})
    assert (answer.text, answer["Content-Type"]) == ("A & **B**", "text/plain; charset=utf-8")
    assert editor.post(address, {"html": "x" * 60_001}).status_code == 400
    assert editor.get(address).status_code == 405


def test_feeds_and_sitemaps_say_when_a_deal_changed(editor):
    """Its price, its end and its text count; what was changed before it was published does not."""
    deal = make_deal(live_at=NOW - DAY)
    feed, sitemap = reverse("front_page_feed"), reverse("sitemap_day", args=["2026-11-20"])
    before, after = "2026-11-20T12:00:00+00:00", "2026-11-21T12:00:00+00:00"
    assert f"<updated>{before}</updated>" in Client().get(feed).text
    assert f"<lastmod>{before}</lastmod>" in Client().get(sitemap).text
    assert save(editor, deal, description="Other words").status_code == 302
    page_cache.forget()
    shown = Client().get(feed).text
    assert f"<published>{before}</published>" in shown
    assert f"<updated>{after}</updated>" in shown
    assert f"<lastmod>{after}</lastmod>" in Client().get(sitemap).text
    scheduled = make_deal(live_at=NOW + DAY)
    save(editor, scheduled, price="3")
    assert deals.get(scheduled.id).card.updated_at == NOW + DAY


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Disney+", "disney-plus"),  # A19
        ("Disney＋", "disney-plus"),
        ("Canal +", "canal-plus"),
        ("C#", "c-sharp"),
        ("C++", "c-plus-plus"),
        ("Google+ TV", "google-plus-tv"),
        ("Black+Decker", "black-decker"),
        ("#1 Tools", "1-tools"),
        ("A + B", "a-b"),
        ("I ❤\ufe0f NY", "i-ny"),  # A22
        ("I ❤ NY", "i-ny"),
        ("葛\U000e0100飾", "葛飾"),
    ],
)
def test_what_tells_names_apart_is_spelled_out_and_what_nobody_sees_is_not(name, slug):
    assert slugify(name) == slug
    assert slugify(slug) == slug
    assert is_slug(slug)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("i-\ufe0f-ny", True),
        ("\ufe0f-x", True),
        ("x-\ufe0f", True),
        ("\ufe0f", False),
        ("a--b", False),
        ("A", False),
    ],
)
def test_slugs_with_selectors_from_before_stay_slugs(text, fits):
    assert is_slug(text) is fits


BERLIN = "Europe/Berlin"
COLUMNS = "Title,Brand,Category,Price,Url"
ROW = "Lamp,Nordlicht,home-furniture,{price},https://shop.example/1"
IMPORTED = [  # (case, first line, a row, what of the deal is right; or the words with which the row is refused)
    ("A6", COLUMNS, ROW.format(price="12.50 USD"), "USD; prices here are in EUR"),
    ("A6", COLUMNS, ROW.format(price="£12.50"), "GBP; prices here are in EUR"),
    ("A6", COLUMNS, ROW.format(price="CHF 12.50"), "CHF; prices here are in EUR"),
    ("A6", COLUMNS, ROW.format(price="12.50 kr"), "SEK; prices here are in EUR"),
    ("A6", COLUMNS, ROW.format(price="12.50 €"), {"price": "12.50"}),
    ("A6", COLUMNS, ROW.format(price="eur 12.50"), {"price": "12.50"}),
    ("A7", COLUMNS.replace("Price", "Price (USD)"), ROW.format(price="12.50"), "USD; prices here are in EUR"),
    ("A7", COLUMNS.replace("Price", "price_usd"), ROW.format(price="12.50"), "USD; prices here are in EUR"),
    ("A7", COLUMNS.replace("Price", "Price in €"), ROW.format(price="12.50"), {"price": "12.50"}),
    ("A7", f"{COLUMNS},Currency", ROW.format(price="12.50") + ",USD", "USD; prices here are in EUR"),
    ("A7", f"{COLUMNS},Currency", ROW.format(price="12.50") + ",EUR", {"price": "12.50"}),
    (
        "A8",
        "title\tlink\tprice\tsale_price\tbrand",
        "GF tv\thttps://shop.example/gf\t159.00 EUR\t129.00 EUR\tNordlicht",
        {"price": "129.00", "was_price": "159.00"},
    ),
    (
        "A8",
        "title\tlink\tsale_price\tprice\tbrand",
        "GF tv\thttps://shop.example/gf\t\t159.00 EUR\tNordlicht",
        {"price": "159.00", "was_price": None},
    ),
    ("A9", COLUMNS, ROW.format(price=1).replace("Lamp", "Kapazität 10³ l, ½"), "6 cells"),
    ("A9", COLUMNS, ROW.format(price=1).replace("Lamp", "Switch™ ½ 10³ l"), {"title": "Switch™ ½ 10³ l"}),
    ("A11", f"{COLUMNS},Published", ROW.format(price=12) + ",true", {"price": "12.00"}),
    ("A11", f"{COLUMNS},Published", ROW.format(price=12) + ",1", {"price": "12.00"}),
    ("A15", COLUMNS, "Łódź żółta,Śnieżka,home-furniture,12,https://x.example/3", {"title": "Łódź żółta"}),
    ("A16", f"{COLUMNS},Voucher code", ROW.format(price=12), {"voucher_code": ""}),
    ("A16", COLUMNS, ROW.format(price=12) + ",X", "The row has 6 cells, the header has 5."),
    (
        "A17",
        f"{COLUMNS},Quantity",
        ROW.format(price="14.0000") + ",100.0000",
        {"price": "14.00", "stock": "100"},
    ),
    ("A17", f"{COLUMNS},Quantity", ROW.format(price="14") + ",2.5", "a whole number"),
    (
        "A18",
        f"{COLUMNS},published_at (UTC)",
        ROW.format(price=1) + ",2026-11-20 18:33:30",
        {"live_at": "2026-11-20T18:33:30"},
    ),
    (
        "A18",
        f"{COLUMNS},Publish at",
        ROW.format(price=1) + ",2026-11-20 18:33:30",
        {"live_at": "2026-11-20T17:33:30"},
    ),
    ("A20", f"{COLUMNS},Was-price", ROW.format(price=12) + ",12", {"price": "12.00", "was_price": None}),
    ("A20", f"{COLUMNS},Was-price", ROW.format(price=12) + ",0.00", {"price": "12.00", "was_price": None}),
    (
        "A20",
        f"{COLUMNS},Was-price",
        ROW.format(price=12) + ",11",
        "The amount to compare with must be above the price.",
    ),
    (
        "A11 of data",
        f"{COLUMNS},Publish at",
        ROW.format(price=1) + ",25.10.2026 02:30+01:00",
        {"live_at": "2026-10-25T01:30:00"},
    ),
    ("A21", f"{COLUMNS},Publish at", ROW.format(price=1) + ",2027-04-30", {"live_at": "2027-04-29T22:00:00"}),
]


def test_a_file_means_what_it_says(sign_in, subtests):
    zones = {"A21": "Africa/Cairo"}
    browsers = {
        zone: sign_in("editor", username=f"eve{n}", zone=zone)
        for n, zone in enumerate((BERLIN, zones["A21"]))
    }
    make_category("home-furniture")
    for n, (case, first, row, right) in enumerate(IMPORTED):
        with subtests.test(case, row=row):
            browser = browsers[zones.get(case, BERLIN)]
            link = f"https://{n}."
            content = f"{first}\n{row}\n".replace("https://", link)
            data = content.encode("cp1250" if case == "A15" else "utf-8")
            address = upload(browser, data, "deals.txt")["Location"]
            chosen = {"become": "deals", "at_once": "on", "category": "home-furniture"}
            report = text(check(browser, address, **chosen))
            if not isinstance(right, dict):
                assert right in report
                continue
            go(browser, address)
            work()
            (deal_id,) = [
                i["id"] for i in table.scan_all() if i["type"] == "Deal" and i["link"].startswith(link)
            ]
            deal = deals.get(deal_id)
            found = vars(deal.content) | {"live_at": f"{time_of(deal_id):%Y-%m-%dT%H:%M:%S}"}
            assert {name: None if found[name] is None else str(found[name]) for name in right} == right


def test_the_same_file_again_is_there_already_also_what_the_list_exported(editor):
    """A4, A5: a deal is known by its link and its id, whenever it was uploaded."""
    make_category("home-furniture")
    lines = ["Title,Brand,Category,Price,Was-price,Url,SKU"]
    lines += [
        f"Dupp lamp {n},Nordlicht,home-furniture,1{n},15,https://shop.example/dupp{n},D {n}" for n in (2, 3)
    ]
    names = ",".join(list_address.OF_DEALS.labels)
    exported = None
    for totals in ((2, 0), (0, 2), (0, 2)):
        content = exported or "\n".join(lines)
        address = upload(editor, content, "deals.csv")["Location"]
        check(editor, address, become="deals", at_once="on", update="all" if exported else "")
        one = editor.get(address).context["one"]
        assert [one.totals[name] for name in ("imported", "there", "refused", "changed")] == [*totals, 0, 0]
        if totals[0]:
            go(editor, address)
            work()
        if totals[1]:
            answer = editor.post(
                reverse("cms_export_list"), {"address": f"/cms/deals/?columns={names}", "token": make_id()}
            )
            exported = b"".join(answer.streaming_content)
