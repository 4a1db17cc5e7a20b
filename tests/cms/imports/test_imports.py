"""Imports in the CMS: upload a file or paste rows, choose the columns, see what is rejected, fix it, import."""

import csv
import io
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.core.files.storage import FileSystemStorage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from cms import import_forms
from dealsite.data import keys, table
from dealsite.data.catalogue import deals, drafts
from dealsite.data.editing import audit, imports
from dealsite.data.integrity import checks
from dealsite.data.jobs import jobs
from dealsite.data.people import profiles
from dealsite.data.table import errors
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.writes import Update
from dealsite.middleware import FILE_BYTES, IS_TOO_LARGE
from dealsite.worker import exports, imports as running
from tests.builders import CONDITION, NOW, all_brands, make_brand, make_deal, make_draft
from tests.cms.conftest import HTMX
from tests.jobs import run_next

EARLIER = NOW - timedelta(hours=1)
LIST = "/cms/imports/"
HEADER = "Artikel;Marke;Warengruppe;Preis;Produkt-URL;Ab;Notiz\n"
ROWS = (
    "Küchenlampe;Lampadine;Home & Furniture;12,90 €;https://shop.example/1;20.11.2026 09:00;a\n"
    "Stuhl;Lampadine;Home & Furniture;x;https://shop.example/2;20.11.2026 10:00;=1+1\n"
    "Tisch;Vela;Home & Furniture;1.299,00;https://shop.example/3;30.11.2026;c\n"
)


@pytest.fixture(autouse=True)
def private(tmp_path, monkeypatch):
    """A folder for private files."""
    storage = FileSystemStorage(tmp_path / "private", allow_overwrite=True)
    monkeypatch.setattr(exports, "storage", lambda: storage)
    return tmp_path / "private"


def text(response):
    return " ".join(response.content.decode().split())


def work():
    while run_next(now=NOW):
        pass


def upload(browser, content=HEADER + ROWS, name="angebote.csv"):
    data = content if isinstance(content, bytes) else content.encode()
    return browser.post(LIST, {"file": SimpleUploadedFile(name, data, content_type="text/csv")})


def upload_file(browser, content=HEADER + ROWS):
    answer = upload(browser, content)
    assert answer.status_code == 302, text(answer)
    return answer["Location"]


def chosen(browser, address, **changes):
    """Return the form of the columns as a browser would send it."""
    form = browser.get(address, {"columns": "1"}).context["form"]
    sent = {name: "" if (value := form[name].value()) is None else value for name in form.fields}
    sent = {name: "on" if value is True else value for name, value in sent.items() if value is not False}
    return {name: value for name, value in (sent | {"do": "check"} | changes).items() if value is not None}


def check(browser, address, **changes):
    answer = browser.post(address, chosen(browser, address, **changes))
    assert answer.status_code == 302, text(answer)
    work()
    return browser.get(address)


def go(browser, address, do="import"):
    version = browser.get(address).context["one"].version
    answer = browser.post(address, {"do": do, "version": version})
    assert answer.status_code == 302, text(answer)
    return answer


def cancel(browser, address):
    page = browser.get(address)
    cancels = reverse("cms_cancel_job", args=[page.context["one"].job])
    assert cancels in text(page)
    assert browser.post(cancels, {"next": address})["Location"] == address


def test_its_page_says_that_another_worker_goes_on_if_its_own_died(editor):
    address = upload_file(editor)
    editor.post(address, chosen(editor, address))
    assert jobs.SILENT not in text(editor.get(address))
    job = jobs.take_next(now=NOW)
    position = keys.open_jobs.position(NOW + jobs.LEASE - jobs.SILENT_AFTER - timedelta(seconds=1), job.id)
    table.write(Update(key=keys.job(job.id), set={"GSI3SK": position}))
    assert jobs.SILENT in text(editor.get(address))


def stored(kind):
    return sorted(item["card"]["title"] for item in table.scan_all() if item["type"] == kind)


def test_a_file_becomes_drafts_on_the_shortest_way(editor):
    address = upload_file(editor)
    page = text(editor.get(address))
    for words in ("angebote.csv", "UTF-8", "Semicolon", "Küchenlampe", "Nothing is stored yet."):
        assert words in page
    report = text(check(editor, address))
    assert "Import 2 drafts" in report
    assert "Write the amount as 1299,90." in report
    assert stored("Draft") == []
    go(editor, address)
    assert "Being imported" in text(editor.get(address))
    work()
    page = text(editor.get(address))
    assert "/cms/deals/?state=draft" in page
    assert stored("Draft") == ["Küchenlampe", "Tisch"]
    assert checks.find() == []


def test_rows_become_deals_at_their_times_in_the_editors_zone(sign_in):
    browser = sign_in("editor", zone="Europe/Berlin")
    address = upload_file(browser)
    assert "Times without a zone are of Europe/Berlin." in text(browser.get(address))
    check(browser, address, become="deals")
    go(browser, address)
    work()
    times = {i["card"]["title"]: i["GSI1PK"] for i in table.scan_all() if i["type"] == "Deal"}
    assert times == {"Küchenlampe": "DEALS#2026-11-20", "Tisch": "DEALS#2026-11-29"}
    assert "/cms/deals/?state=scheduled" in text(browser.get(address))


@pytest.mark.parametrize(
    ("encoding", "says"), [("cp1252", "Windows-1252"), ("utf-16", "UTF-16"), ("utf-8-sig", "byte order mark")]
)
def test_the_encoding_is_found_out_and_said(editor, encoding, says):
    content = (HEADER + ROWS).replace("€", "EUR").encode(encoding)
    address = upload_file(editor, content)
    page = text(editor.get(address))
    assert says in page
    assert "Küchenlampe" in page


def test_each_encoding_shows_how_letters_look_in_it(editor):
    address = upload_file(editor, "Titel;Preis;Link\nŠkola;1;https://a.example\n".encode("cp1250"))
    page = text(editor.get(address))
    assert "Windows-1250, Central Europe: Škola" in page
    assert "Windows-1251, Cyrillic: Љkola" in page


def test_what_was_found_out_wrongly_can_be_said(editor):
    address = upload_file(editor, "Titel,Preis;Link\nLampe,1;https://a.example\n")
    version = editor.get(address).context["one"].version
    answer = editor.post(
        address, {"do": "read", "encoding": "cp1252", "separator": "comma", "version": version}
    )
    assert answer.status_code == 302
    page = editor.get(address)
    assert page.context["one"].source_file.titles == ("Titel", "Preis;Link")
    assert "Windows-1252" in text(page)


def test_amounts_and_dates_are_guessed(editor):
    form = editor.get(upload_file(editor)).context["form"]
    assert (form["decimal"].value(), form["dates"].value()) == (",", "day")
    american = "Title,Brand,Category,Price,URL,Published\nLamp,V,Home & Furniture,1.50,https://a.example,11/21/2026\n"
    form = editor.get(upload_file(editor, american)).context["form"]
    assert (form["decimal"].value(), form["dates"].value()) == (".", "month")


def test_the_columns_say_how_many_are_recognised_and_how_far_the_import_is(editor):
    address = upload_file(editor)
    page = text(editor.get(address))
    assert "6 of 7 recognised" in page
    assert "Check 3 rows" in page
    assert re.search(r'<li aria-current="step"> <b>2</b> <span>Columns</span>', page)
    assert page.count("<li data-done>") == 1
    answer = editor.post(address, chosen(editor, address, column_0=""))
    assert "5 of 7 recognised" in text(answer)


def test_how_a_file_was_read_is_remembered_for_the_next_one(editor, other_editor):
    check(editor, upload_file(editor), column_6="description", become="deals")
    page = other_editor.get(upload_file(other_editor))
    assert "This is how such a file was read the last time." in text(page)
    assert page.context["form"]["column_6"].value() == "description"
    assert page.context["form"]["become"].value() == "deals"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"column_0": ""}, "Choose the column for: Title."),
        ({"column_6": "title"}, "This is another column already."),
        ({"column_1": "", "become": "deals"}, "No column holds the brand."),
        ({"column_2": "", "become": "deals"}, "No column holds the category."),
        ({"column_4": "", "become": "deals"}, "Choose the column for: Link to the shop."),
        ({"column_3": ""}, "Choose the column for: Price."),
        ({"shop": "javascript:alert(1)"}, "Enter a full web address"),
        ({"column_5": "", "become": "deals"}, "No column holds the time of publication."),
        ({"column_0": "nonsense"}, "Select a valid choice."),
        ({"decimal": "x"}, "Select a valid choice."),
    ],
)
def test_columns_that_cannot_be_are_refused(editor, changes, words):
    address = upload_file(editor)
    answer = editor.post(address, chosen(editor, address, **changes))
    assert answer.status_code == 422
    assert words in text(answer)
    assert editor.get(address).context["one"].stage == "uploaded"


def test_a_draft_may_lack_what_the_file_does_not_have(editor):
    address = upload_file(editor)
    report = check(editor, address, column_1="", column_2="", column_4="")
    assert "Import 2 drafts" in text(report)
    go(editor, address)
    work()
    cards = [item["card"] for item in table.scan_all() if item["type"] == "Draft"]
    assert [("brand" in card, "category" in card) for card in cards] == [(False, False)] * 2


SHOPIFY = (
    "Handle,Title,Vendor,Type,Variant Price,Variant Compare At Price\nlamp,Lamp,Nordlicht,Lamps,12.50,20.00\n"
)


def test_a_known_file_is_named_and_its_links_are_below_the_shops_address(editor):
    address = upload_file(editor, SHOPIFY)
    assert "This is a file of Shopify." in text(editor.get(address))
    answer = editor.post(address, chosen(editor, address, become="deals", at_once="on"))
    assert answer.status_code == 422
    assert "Enter the address of the shop." in text(answer)
    assert check(editor, address).context["one"].totals["imported"] == 1
    check(editor, address, shop="https://shop.example/")
    go(editor, address)
    work()
    (draft,) = [item for item in table.scan_all() if item["type"] == "Draft"]
    assert draft["link"] == "https://shop.example/products/lamp"
    assert check(editor, upload_file(editor, SHOPIFY)).context["one"].totals["there"] == 1


def test_a_list_of_article_numbers_needs_no_other_columns_where_it_changes_what_is_there(editor):
    deal = make_deal(article_number="CH-1", price=Decimal("30.00"), now=EARLIER)
    address = upload_file(editor, "Art-Nr,Preis\nch-1,25\n")
    answer = editor.post(address, chosen(editor, address, become="deals"))
    assert answer.status_code == 422
    page = check(editor, address, become="deals", brand="nordlicht", update="all")
    assert "<ins>€25.00</ins>" in text(page)
    go(editor, address)
    work()
    assert deals.get(deal.id).content.price == Decimal(25)


def test_categories_and_brands_of_a_file_are_mapped_once_and_remembered(editor):
    make_brand("Nordlicht")
    address = upload_file(editor, SHOPIFY.replace("Nordlicht", "Nordlicht GmbH"))
    page = check(editor, address)
    assert "Categories that the site does not have" in text(page)
    version = page.context["one"].version
    sent = {"do": "names", "version": version, "category_0": "home-furniture", "brand": "Nordlihct"}
    assert "There is no brand “Nordlihct”." in text(editor.post(address, sent, follow=True))
    assert editor.post(address, sent | {"brand": "nordlicht"}).status_code == 302
    work()
    one = editor.get(address).context["one"]
    assert (one.totals["imported"], one.totals["brands"], one.categories, one.brands) == (1, 0, [], [])
    go(editor, address)
    work()
    (card,) = [item["card"] for item in table.scan_all() if item["type"] == "Draft"]
    assert (card["brand"], card["category"]) == ("nordlicht", "home-furniture")
    other = SHOPIFY.replace("Nordlicht", "NORDLICHT gmbh").replace("lamp,", "other,")
    one = check(editor, upload_file(editor, other)).context["one"]
    assert (one.totals["brands"], one.categories) == (0, [])


def test_whatever_a_category_is_called_it_can_be_mapped(editor):
    names = ["???", "→ Neu", "ß" * 300, "C++"]
    rows = "".join(f"l{n},Lamp {n},Nordlicht,{name},1,\n" for n, name in enumerate(names))
    address = upload_file(editor, SHOPIFY.partition("lamp,")[0] + rows)
    one = check(editor, address).context["one"]
    assert {category["name"] for category in one.categories} == set(names)
    sent = {f"category_{n}": "home-furniture" for n in range(len(names))}
    assert editor.post(address, {"do": "names", "version": one.version, **sent}).status_code == 302
    work()
    assert editor.get(address).context["one"].categories == []


def test_defaults_stand_in_for_columns_that_are_missing(editor):
    address = upload_file(editor)
    check(
        *(editor, address),
        column_1="",
        column_2="",
        column_5="",
        brand="Vela",
        category="toys-hobbies",
        become="deals",
        at_once="on",
    )
    go(editor, address)
    work()
    found = [item["card"] for item in table.scan_all() if item["type"] == "Deal"]
    assert {(card["brand"], card["category"]) for card in found} == {("vela", "toys-hobbies")}


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"", "a.csv", "The file is empty."),
        (b"PK\x03\x04xl/", "a.csv", "This is an Excel workbook. Save it as CSV."),
        (b"a,b\n", "a.xlsx", "ends with .csv"),
        (b'"a\n', "a.csv", "Line 1 should name the columns."),
        (b"\x00\x01\x02", "a.txt", "This is no text file."),
        (HEADER.encode(), "a.csv", "The file names its columns, and holds no row."),
    ],
)
def test_a_file_that_cannot_be_taken_is_refused(editor, private, content, name, words):
    answer = upload(editor, content, name)
    assert answer.status_code == 422
    assert words in text(answer)
    assert imports.newest().rows == []
    assert not private.exists()


def test_a_file_that_is_too_large_is_refused(editor, monkeypatch):
    monkeypatch.setattr(import_forms, "MAX_BYTES", 10)
    assert "larger than 50 MB" in text(upload(editor))


def test_the_form_says_how_large_a_file_may_be(editor):
    page = editor.get(LIST).content.decode()
    assert 'data-most-bytes="50000000"' in page
    assert "Up to 50 MB" in page


@pytest.mark.parametrize(("headers", "links"), [({}, 1), (HTMX, 0)], ids=["page", "part"])
def test_what_the_web_process_left_unread_is_refused_with_the_limit(editor, headers, links):
    meta = {IS_TOO_LARGE: True, FILE_BYTES: 50_000_000}
    answer = editor.post(LIST, {}, headers=headers, **meta)
    assert answer.status_code == 413
    assert "A file has at most 50 MB here." in text(answer)
    assert answer.content.decode().count(f'href="{LIST}"') == links


def test_the_limit_is_said_in_the_language_of_the_editor(editor):
    profiles.save_preferences("eve", language="de")
    answer = editor.post(LIST, {}, **{IS_TOO_LARGE: True, FILE_BYTES: 50_000_000})
    assert answer["Content-Language"] == "de"


def test_a_form_of_more_than_a_form_may_have_is_too_large(editor):
    answer = editor.post(LIST, {"rows": "x" * 1_000_001}, **{FILE_BYTES: 50_000_000})
    assert answer.status_code == 413
    assert "A file has at most" not in text(answer)
    assert "That is more than this page takes" in text(answer)


def test_no_file_is_kept_that_no_job_deletes(editor, private, monkeypatch):
    def fail(*args, **more):
        raise errors.Unavailable()

    monkeypatch.setattr(imports, "create", fail)
    assert upload(editor).status_code == 503
    assert not [path for path in private.rglob("*") if path.is_file()]


def test_neither_file_nor_rows_are_refused(editor):
    answer = editor.post(LIST, {})
    assert answer.status_code == 422
    assert "Choose a file, or paste rows." in text(answer)


def test_new_brands_are_named_before_and_after_the_import(editor, private):
    rows = (
        ROWS.replace("x;https", "9;https") + "Bett;<b>Vela</b>;Home & Furniture;9;https://shop.example/4;;\n"
    )
    address = upload_file(editor, HEADER + rows)
    page = check(editor, address)
    assert [brand["name"] for brand in page.context["one"].brands] == ["Lampadine", "Vela", "<b>Vela</b>"]
    assert "&lt;b&gt;Vela&lt;/b&gt;" in text(page)
    assert "/cms/brands/vela/" not in text(page)
    go(editor, address)
    work()
    page = editor.get(address)
    assert '<a class="text-link" href="/cms/brands/vela/">Vela</a>' in text(page)
    assert editor.get("/cms/brands/b-vela-b/").status_code == 200
    report = b"".join(editor.get(f"{address}report.csv/").streaming_content).decode("utf-8-sig")
    assert [row[:4] for row in csv.reader(io.StringIO(report)) if row[-1] == "This brand is new."] == [
        ["2", "no", "Brand", "Lampadine"],
        ["4", "no", "Brand", "Vela"],
        ["5", "no", "Brand", "<b>Vela</b>"],
    ]
    again = upload_file(editor, HEADER + rows)
    assert "New brands</h2>" not in text(check(editor, again))


def test_of_many_new_brands_the_first_ones_are_named(editor, monkeypatch):
    monkeypatch.setattr(running, "BRANDS", 1)
    page = check(editor, upload_file(editor))
    assert [brand["name"] for brand in page.context["one"].brands] == ["Lampadine"]
    assert "1 more is in the report" in text(page)


def test_pasted_rows_become_a_file(editor):
    rows = (HEADER + ROWS).replace(";", "\t")
    answer = editor.post(LIST, {"rows": rows.replace("\n", "\r\n"), "has_titles": "on"})
    address = answer["Location"]
    page = editor.get(address)
    assert "Tab" in text(page)
    assert page.context["one"].source_file.name == "Pasted rows"
    assert "Import 2 drafts" in text(check(editor, address))


def test_pasted_rows_may_have_no_titles(editor):
    rows = ROWS.replace(";", "\t")
    address = editor.post(LIST, {"rows": rows})["Location"]
    form = editor.get(address).context["form"]
    assert list(form.titles) == [f"Column {n}" for n in range(1, 8)]
    fields = dict(enumerate(("title", "brand", "category", "price", "url", "published_at", "")))
    changes = {f"column_{n}": field for n, field in fields.items()} | {"decimal": ","}
    assert "Import 2 drafts" in text(check(editor, address, **changes))


@pytest.mark.parametrize("rows", ["", "   ", "\x00", "x" * 300_001], ids=["none", "blank", "nul", "many"])
def test_pasted_rows_that_cannot_be_taken_are_refused(editor, rows):
    assert editor.post(LIST, {"rows": rows, "has_titles": "on"}).status_code == 422
    assert imports.newest().rows == []


def test_pasted_rows_are_sent_as_they_are_so_that_no_letter_counts_nine_times(editor):
    assert '<form class="form" method="post" enctype="multipart/form-data"' in text(editor.get(LIST))


def test_a_file_is_taken_rather_than_rows_that_stand_beside_it(editor):
    file = SimpleUploadedFile("angebote.csv", (HEADER + ROWS).encode())
    address = editor.post(LIST, {"file": file, "rows": "a\tb\n1\t2\n", "has_titles": "on"})["Location"]
    assert editor.get(address).context["one"].source_file.name == "angebote.csv"


def test_the_first_page_names_the_columns_that_are_known(editor):
    page = text(editor.get(LIST))
    for field in import_forms.FIELDS.values():
        assert f"<li>{field}</li>" in page


def test_a_pasted_lone_surrogate_does_no_harm(editor):
    answer = editor.post(
        LIST,
        b"has_titles=on&rows=Titel%09Preis%0A%ED%A0%80%091",
        content_type="application/x-www-form-urlencoded",
    )
    assert answer.status_code == 302
    assert editor.get(answer["Location"]).status_code == 200


def rejected(browser, address):
    return b"".join(browser.get(f"{address}refused.csv/").streaming_content)


@pytest.mark.parametrize("language", ["en", "de"])
def test_rejected_rows_are_fixed_in_their_file_and_uploaded_again(editor, language):
    address = upload_file(editor)
    profiles.save_preferences("eve", language=language)
    assert f"{address}refused.csv/" in text(check(editor, address, become="deals"))
    profiles.save_preferences("eve", language="en")
    again = upload_file(editor, rejected(editor, address).replace(b",x,", b',"49,90",'))
    page = editor.get(again)
    assert [column["field"].label for column in page.context["form"].columns] == HEADER.strip().split(";")
    assert page.context["remembered"]
    assert "Import 1 deal" in text(check(editor, again))
    go(editor, again)
    work()
    assert stored("Deal") == ["Stuhl"]


def test_rows_that_are_rejected_twice_have_the_reasons_of_the_second_time(editor):
    rows = "Stuhl;Lampadine;Home & Furniture;x\n" + "Tisch;;;;;;;zu;viel\n"
    address = upload_file(editor, HEADER + rows)
    check(editor, address)
    again = upload_file(editor, rejected(editor, address).replace(b",x,", b',"1,2,3",'))
    check(editor, again)
    titles, chair, table_ = csv.reader(io.StringIO(rejected(editor, again).decode("utf-8-sig")))
    assert titles == [*HEADER.strip().split(";"), "Why it was rejected"]
    assert (chair[3], len(chair)) == ("1,2,3", len(titles))
    assert "Preis: Write the amount as" in chair[-1]
    assert (table_[0], table_[-1]) == ("Tisch", "The row has 9 cells, the header has 7.")


def test_the_columns_that_were_chosen_are_not_lost_where_they_cannot_be_stored(editor, monkeypatch):
    def fail(*arguments, **options):
        raise errors.Unavailable()

    address = upload_file(editor)
    sent = chosen(editor, address, become="deals", brand="Typed with care")
    for name in ("check", "layout_of"):
        monkeypatch.setattr(imports, name, fail)
    answer = editor.post(address, sent)
    assert answer.status_code == 503
    assert "Typed with care" in answer.content.decode()
    assert "Nothing that you entered is lost." in text(answer)


def _fail(*arguments, **options):
    raise errors.Unavailable()


def test_what_was_pasted_is_kept_to_be_sent_again_where_it_cannot_be_stored(editor, monkeypatch):
    sent = {"rows": HEADER + ROWS, "has_titles": "on"}
    with monkeypatch.context() as away:
        away.setattr(imports, "create", _fail)
        answer = editor.post(LIST, sent)
    assert answer.status_code == 503
    assert "What you entered is kept on this page" in text(answer)
    assert dict(answer.context["kept"]) == sent
    assert editor.post(LIST, dict(answer.context["kept"])).status_code == 302


def test_a_form_that_came_while_nothing_could_be_read_is_kept_to_be_sent_again(editor, monkeypatch):
    address = upload_file(editor)
    sent = chosen(editor, address, brand="Typed with care")
    with monkeypatch.context() as away:
        away.setattr(table, "get", _fail)
        away.setattr(table, "batch_get", _fail)  # who asks cannot be found out either
        for form in (address, LIST):
            answer = editor.post(form, sent)
            assert answer.status_code == 503, form
            assert "What you entered is kept on this page" in text(answer), form
            assert (answer.context["address"], dict(answer.context["kept"])) == (form, _as_texts(sent))
        assert "kept on this page" not in text(editor.get(address))
    kept = dict(answer.context["kept"])
    assert editor.post(address, kept).status_code == 302
    assert imports.newest().rows[0].card["stage"] == "checking"


def _as_texts(sent):
    return {name: str(value) for name, value in sent.items()}


def test_a_file_that_came_while_nothing_could_be_stored_is_asked_for_again_with_its_form(editor, monkeypatch):
    token = new_ulid(NOW)
    with monkeypatch.context() as away:
        away.setattr(imports, "create", _fail)
        file = SimpleUploadedFile("angebote.csv", (HEADER + ROWS).encode(), content_type="text/csv")
        answer = editor.post(LIST, {"file": file, "token": token})
    assert answer.status_code == 503
    assert answer.context["kept"] == [("token", token)]
    assert answer.context["files"] == [("file", "angebote.csv")]


@pytest.mark.parametrize("where", ["file", "rows"])
def test_a_second_click_leads_to_the_import_of_the_first(editor, private, where):
    token = editor.get(LIST).context["form"]["token"].value()
    before = len(imports.newest().rows)

    def send(rows=HEADER + ROWS, token=token):
        if where == "file":
            return editor.post(LIST, {"file": SimpleUploadedFile("a.csv", rows.encode()), "token": token})
        return editor.post(LIST, {"rows": rows.replace(";", "\t"), "has_titles": "on", "token": token})

    first = send()["Location"]
    assert send()["Location"] == first
    check(editor, first)
    assert send()["Location"] == first
    assert len(imports.newest().rows) == before + 1
    # What is sent from there after it was changed is something else.
    assert send((HEADER + ROWS)[:-2] + "d\n")["Location"] != first
    assert send(token="x")["Location"] != first
    assert send(token=new_ulid(NOW - timedelta(days=2)))["Location"] != first
    assert len(imports.newest().rows) == before + 4


def test_nobody_replaces_the_file_of_another_one(editor, other_editor, private):
    token = new_ulid(NOW)

    def send(browser, rows):
        return browser.post(LIST, {"file": SimpleUploadedFile("a.csv", rows.encode()), "token": token})

    theirs = send(other_editor, HEADER + ROWS)["Location"]
    assert send(editor, HEADER + ROWS)["Location"] != theirs
    assert send(other_editor, HEADER + ROWS * 2)["Location"] != theirs
    kept = next((private / "imports" / token).glob("*")).read_text("utf-8")
    assert kept == HEADER + ROWS


def test_report_and_rejected_rows_can_be_had_as_csv_without_formulas(editor):
    address = upload_file(editor)
    check(editor, address)
    answer = editor.get(f"{address}refused.csv/")
    assert answer["Content-Disposition"] == 'attachment; filename="2026-11-21-refused.csv"'
    rows = list(csv.reader(io.StringIO(b"".join(answer.streaming_content).decode("utf-8-sig"))))
    assert rows[0] == [*HEADER.strip().split(";"), "Why it was rejected"]
    assert (rows[1][0], rows[1][6]) == ("Stuhl", "'=1+1")
    answer = editor.get(f"{address}report.csv/")
    assert b"Write the amount as" in b"".join(answer.streaming_content)
    for part in ("rows.csv", "x", "..%2Frows.csv"):
        assert editor.get(f"{address}{part}/").status_code == 404


def test_files_are_gone_after_a_week_and_what_was_done_is_still_known(editor, monkeypatch):
    address = upload_file(editor)
    check(editor, address)
    monkeypatch.setattr(imports, "KEPT", timedelta(0))
    for path in ("report.csv/", "refused.csv/"):
        assert editor.get(address + path).status_code == 404
    page = text(editor.get(address))
    assert "refused.csv/" not in page
    assert "Write the amount as" in page


def test_the_page_renews_itself_while_something_is_done(editor):
    address = upload_file(editor)
    editor.post(address, chosen(editor, address))
    page = text(editor.get(address, headers=HTMX))
    assert 'hx-trigger="every 2s, seen-again"' in page
    assert "<html" not in page
    work()
    answer = editor.get(address, headers=HTMX)
    assert "every 2s" not in text(answer)
    assert answer["HX-Refresh"] == "true"
    assert "Import 2 drafts" in text(editor.get(address))


def test_a_check_can_be_cancelled_and_done_in_another_way(editor):
    address = upload_file(editor)
    editor.post(address, chosen(editor, address))
    cancel(editor, address)
    work()
    page = text(editor.get(address))
    assert "Cancelled" in page
    assert "Back to the columns" in page
    assert "Import 2 drafts" in text(check(editor, address))


def test_an_import_can_be_cancelled_and_the_rest_imported(editor):
    address = upload_file(editor)
    check(editor, address)
    go(editor, address)
    cancel(editor, address)
    work()
    assert stored("Draft") == []
    assert "Import the rest" in text(editor.get(address))
    go(editor, address)
    work()
    assert stored("Draft") == ["Küchenlampe", "Tisch"]


def test_a_second_click_imports_nothing_twice(editor, other_editor):
    address = upload_file(editor)
    check(editor, address)
    version = editor.get(address).context["one"].version
    sent = {"do": "import", "version": version}
    assert editor.post(address, sent).status_code == 302
    assert editor.post(address, sent).headers["Location"] == address
    assert other_editor.post(address, sent).status_code == 409
    work()
    assert editor.post(address, sent).headers["Location"] == address
    kinds = [job.kind for job in _jobs()]
    assert kinds.count(jobs.RUN_IMPORT) == 1


def _jobs():
    items = [item for item in table.scan_all() if item["type"] == "Job"]
    return [jobs.job_from_item(item) for item in items]


@pytest.mark.parametrize("sent", [{}, {"do": "x"}, {"do": "import"}, {"do": "import", "version": "x"}])
def test_a_damaged_form_does_nothing(editor, sent):
    address = upload_file(editor)
    check(editor, address)
    assert editor.post(address, sent).status_code == 400
    assert editor.get(address).context["one"].stage == "checked"


def cells_of(page):
    """Return what the list says of each import: rows, new, changed and rejected ones."""
    numbers = re.findall(r'<td class="column-number[^>]*> ?([^ <]+) ?</td>', text(page))
    return [numbers[n : n + 4] for n in range(0, len(numbers), 4)]


def test_imports_are_listed_newest_first_with_their_states(editor):
    first = upload_file(editor)
    check(editor, first)
    upload_file(editor)
    page = editor.get(LIST)
    assert sorted(cells_of(page)) == [["3", "2", "0", "1"], ["3", "–", "–", "–"]]
    assert "Checked" in text(page)
    assert ">eve, <time" in text(page)
    assert text(page).count('class="column-number font-medium text-error"') == 1


def test_a_list_without_imports_says_what_to_do(editor):
    assert "A spreadsheet of deals, saved as CSV" in text(editor.get(LIST))


def test_imports_are_for_editors_alone(editor, office, client):
    address = upload_file(editor)
    check(editor, address)
    for path in (LIST, address, f"{address}report.csv/"):
        assert office.get(path).status_code == 403, path
        assert client.get(path).status_code == 302, path


def test_no_form_of_an_import_works_without_its_token(sign_in, editor):
    address = upload_file(editor)
    check(editor, address)
    browser = sign_in("editor", csrf=True)
    for path, data in {
        LIST: {"file": SimpleUploadedFile("a.csv", b"a\n")},
        address: {"do": "import", "version": "2"},
    }.items():
        assert browser.post(path, data).status_code == 403, path


def test_it_is_noted_who_uploaded_and_imported_a_file(editor, other_editor):
    address = upload_file(editor)
    check(editor, address)
    go(other_editor, address)
    entries = audit.of_target("import", address.split("/")[-2])
    assert {(entry.by, entry.what) for entry in entries} == {("eve", "brought a file"), ("oscar", "imported")}


def test_an_import_shows_what_it_changes_and_takes_it_back(editor):
    deal = make_deal(title="Stuhl", price=Decimal("30.00"), stock=8, was_price=None, now=EARLIER)
    draft = make_draft(title="Tisch", brand="Vela", price=Decimal(9), now=EARLIER)
    other = make_deal(title="Bank", price=Decimal("30.00"), now=EARLIER)
    rows = f"{deal.id},25,12,\n{draft.id},9,,Neu\n{other.id},30,,\n,x,1,\n"
    address = upload_file(editor, "id,price,stock,brand\n" + rows)
    check(editor, address, update="all")
    page = text(editor.get(address, {"tab": "changes"}))
    for shown in (
        "<del>€30.00</del> <ins>€25.00</ins>",
        "<del>8</del> <ins>12</ins>",
        "<del>Vela</del> </dd>",
        "<ins>Neu</ins> </dd>",
        f'href="/cms/deals/find/?q={draft.id}" title="Tisch">Tisch</a>',
        "Price 1, Stock 1",
        "Can be undone for 30 days",
        "Import 2 rows",
    ):
        assert shown in page, shown
    assert ">Bank<" not in page
    changes = b"".join(editor.get(f"{address}changes.csv/").streaming_content).decode("utf-8-sig")
    assert f"2,{deal.id},Stuhl,stock,8,12" in changes.splitlines()
    page = text(go(editor, address))
    assert "Undo the changes" not in page
    work()
    page = editor.get(address)
    assert "Undo the changes" in text(page)
    assert [deals.get(deal.id).stock, drafts.get(draft.id).content.brand] == [12, "neu"]
    assert cells_of(editor.get(LIST)) == [["4", "0", "2", "1"]]
    sent = {"do": "undo", "version": page.context["one"].version, "token": page.context["undo_token"]}
    job = editor.post(address, sent)["Location"]
    assert editor.post(address, sent)["Location"] == job
    work()
    page = text(editor.get(job))
    assert "Change by an import" in page
    assert f'href="{address}">The change that this takes back' in page
    assert deals.get(deal.id).content == deal.content
    assert drafts.get(draft.id).content == draft.content
    page = text(editor.get(address))
    assert f'href="{job}">' in page
    assert "Undo the changes" not in page


@pytest.mark.parametrize("import_id", ["x", new_ulid(datetime(2026, 1, 1, tzinfo=UTC), 1), "a%23b"])
def test_an_import_that_nobody_uploaded_is_not_found(editor, import_id):
    for path in ("", "report.csv/"):
        assert editor.get(f"/cms/imports/{import_id}/{path}").status_code == 404


def test_a_row_that_gives_a_price_takes_the_condition_away_and_the_other_way_round(editor):
    free = make_deal(title="Stuhl", **CONDITION, now=EARLIER)
    was = {"price": Decimal("30.00"), "condition": "", "was_price": Decimal("40.00")}
    priced = make_deal(title="Bank", **CONDITION | was, now=EARLIER)
    both = make_deal(title="Tisch", price=Decimal("30.00"), now=EARLIER)
    rows = f"{free.id},25,\n{priced.id},,Free delivery\n{both.id},25,Free delivery\n"
    address = upload_file(editor, f"id,price,instead_of_price\n{rows}")
    assert "There is a price. Empty this, or the price." in text(check(editor, address, update="all"))
    go(editor, address)
    work()
    contents = [deals.get(one.id).content for one in (free, priced, both)]
    assert [(one.price, one.condition, one.was_price) for one in contents] == [
        (Decimal(25), "", None),
        (None, "Free delivery", None),
        (both.content.price, "", both.content.was_price),
    ]


def tabs(page):
    return {name: number for name, _label, _address, number in page.context["tabs"]}


def test_a_check_begins_with_what_needs_somebody(editor):
    make_deal(title="Stuhl", price=Decimal("30.00"), article_number="S1", now=EARLIER)
    make_deal(title="Bank", price=Decimal("40.00"), article_number="B1", now=EARLIER)
    rows = "S1;;31,50;\nB1;;40;\nN1;Neu;9;Schilder\nX1;Alt;x;\n"
    address = upload_file(editor, "Artikelnummer;Titel;Preis;Kategorie\n" + rows)
    page = check(editor, address, update="prices", brand="nordlicht")
    assert tabs(page) == {"needs": 2, "changes": 1, "new": 1, "same": 1}
    assert page.context["listed"] == "needs"
    assert "Write the amount as 1299,90." in text(page)
    shown = {tab: text(editor.get(address, {"tab": tab})) for tab in (*tabs(page), "x")}
    assert "dearer by 5%" in shown["changes"]
    assert "They become drafts." in shown["new"]
    assert "changes nothing in it" in shown["same"]
    assert "Rejected rows</h2>" in shown["x"]
    assert all("Categories that the site does not have" in one for one in shown.values())
    assert ["Write the amount" in one for one in shown.values()] == [True, False, False, False, True]
    go(editor, address)
    work()
    page = editor.get(address)
    assert tabs(page) == {"needs": 1, "changes": 1, "new": 1, "same": 1}
    assert "They are drafts now." in text(editor.get(address, {"tab": "new"}))


@pytest.mark.parametrize(
    ("rows", "listed"), [("S1;31\n", "changes"), ("S1;30\n", "same"), ("N1;9\nS1;30\n", "new")]
)
def test_without_faults_it_begins_with_what_there_is(editor, rows, listed):
    make_deal(title="Neu", price=Decimal("30.00"), article_number="S1", now=EARLIER)
    content = "Artikelnummer;Preis;Titel\n" + rows.replace("\n", ";Neu\n")
    page = check(editor, upload_file(editor, content), update="prices", brand="nordlicht")
    assert page.context["listed"] == listed


def test_a_brand_that_is_nearly_known_is_offered_and_taken_only_when_it_is_checked_again(
    editor, search_index
):
    make_brand("Nordlicht")
    search_index()
    rows = SHOPIFY.replace("Nordlicht", "Nordlcith") + "l2,Lamp 2,Vela,Lamps,1,\nl3,Lamp 3,Vela,Lamps,1,\n"
    address = upload_file(editor, rows)
    page = check(editor, address)
    found = [(one["name"], one["rows"], one.get("near")) for one in page.context["brands"]]
    assert found == [("Nordlcith", 1, "Nordlicht"), ("Vela", 2, None)]
    for words in ('value="Nordlicht"', "two letters apart", 'placeholder="Create “Vela”"', "2 rows"):
        assert words in text(page)
    go(editor, address)
    work()
    assert sorted(brand.name for brand in all_brands()) == ["Nordlcith", "Nordlicht", "Vela"]


def changes_of(editor, rows):
    made = [
        make_deal(title=f"Stuhl {n}", price=Decimal("30.00"), article_number=f"S{n}", now=EARLIER)
        for n in range(rows)
    ]
    address = upload_file(editor, "Artikelnummer;Preis\n" + "".join(f"S{n};25\n" for n in range(rows)))
    return made, address, check(editor, address, update="prices", brand="nordlicht")


def test_a_row_that_is_not_ticked_changes_nothing(editor):
    made, address, page = changes_of(editor, 3)
    assert text(page).count(" checked>") == 3
    sent = {"do": "import", "version": page.context["one"].version, "line": ["2", "3", "4", "5", "x"]}
    editor.post(address, sent | {"keep": ["2", "4", "99"]})
    assert editor.get(address).context["one"].layout["left_out"] == [3]
    work()
    assert [deals.get(deal.id).content.price for deal in made] == [25, 30, 25]
    page = editor.get(address, {"tab": "changes"})
    assert tabs(page) == {"needs": 0, "changes": 2, "new": 0, "same": 1}
    assert "Left out: its box was not ticked." in text(page)
    assert "<p>left out</p>" in text(page)
    assert checks.find() == []


def test_the_other_tabs_know_what_is_not_ticked(editor):
    made, address, _ = changes_of(editor, 2)
    page = editor.get(address, {"tab": "new", "without": "3,77,x"})
    assert page.context["import_label"] == "Import 1 row"
    assert page.context["tabs"][1][2] == "?tab=changes&without=3"
    assert text(page).count('name="line"') == 1
    assert text(editor.get(address, {"tab": "changes", "without": "3"})).count(" checked>") == 1
    editor.post(address, {"do": "import", "version": page.context["one"].version, "line": "3"})
    work()
    assert [deals.get(deal.id).content.price for deal in made] == [25, 30]
