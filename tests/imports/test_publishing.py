"""Storing what was imported: once, together where possible, and never spoilt by a bad neighbour."""

import pytest

from dealsite.data import table
from dealsite.data.catalogue import brands, categories, deals, publishing as deal_publishing
from dealsite.data.catalogue.cards import Picture
from dealsite.data.catalogue.publishing import publish_many
from dealsite.data.jobs import jobs
from dealsite.data.table.errors import AlreadyExists, Busy, Conflict, Invalid, Unavailable
from dealsite.imports import publishing, rows
from dealsite.imports.publishing import Import
from tests.builders import DAY, all_brands
from tests.imports.builders import NOW, check_file, make_row, results_of, run_import, write_csv

PICTURE = Picture("pictures/ab/" + "ab" * 16, 480, 360, "A lamp")


@pytest.fixture(autouse=True)
def stored(whole_table):
    """An empty table with its categories, which is whole at the end of each test."""
    categories.create_all()


@pytest.fixture(autouse=True)
def pauses(monkeypatch):
    """The pauses that were made; none takes time."""
    made: list[float] = []
    monkeypatch.setattr(publishing, "pause", made.append)
    return made


def transactions(meter):
    return sum(operation == "TransactWriteItems" for operation, _ in meter.log)


def test_deals_and_their_brands_are_stored(tmp_path):
    path = write_csv(tmp_path, [make_row(n, brand=f"Brand {n % 3}") for n in range(10)])
    totals, remarks, steps = run_import(path)
    assert (totals.imported, totals.there, totals.refused, totals.brands, steps) == (10, 0, 0, 3, 10)
    assert remarks == []
    new = check_file(path)
    for one in new:
        deal = deals.get(one.id)
        assert (deal.content, deal.updated_by) == (one.content, "mara")
    assert brands.get("brand-1").name == "Brand 1"
    assert brands.get_with_counts("brand-0").deals == 4


def test_running_it_again_stores_nothing_twice(tmp_path):
    path = write_csv(tmp_path, [make_row(n) for n in range(5)])
    run_import(path)
    totals, _, steps = run_import(path)
    assert (totals.imported, totals.there, totals.brands, steps) == (0, 5, 0, 5)


def test_the_same_row_twice_in_a_file_is_stored_once(tmp_path):
    totals, _, steps = run_import(write_csv(tmp_path, [make_row(), make_row(), make_row(1)]))
    assert (totals.imported, totals.there, steps) == (2, 1, 3)


def test_an_interrupted_import_goes_on_where_it_was(tmp_path, monkeypatch):
    path = write_csv(tmp_path, [make_row(n) for n in range(100)])
    publish, calls = publish_many, []

    def interrupted(new, **options):
        calls.append(len(new))
        if len(calls) == 2:
            raise KeyboardInterrupt
        publish(new, **options)

    monkeypatch.setattr(deal_publishing, "publish_many", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_import(path)
    totals, _, _ = run_import(path)
    assert (totals.there, totals.imported) == (calls[0], 100 - calls[0])


def test_a_dry_run_counts_and_stores_nothing(tmp_path):
    path = write_csv(tmp_path, [make_row(0), make_row(1, brand="New"), make_row(2, price="x")])
    with table.metered() as meter:
        totals, remarks, _ = run_import(path, dry_run=True)
    assert (totals.imported, totals.refused, totals.brands, len(remarks)) == (2, 1, 2, 1)
    assert {operation for operation, _ in meter.log} == {"BatchGetItem", "Query"}
    assert all_brands() == []


def test_bad_rows_never_spoil_the_others(tmp_path):
    made = [make_row(n, **({"price": "free"} if n % 4 == 1 else {})) for n in range(20)]
    totals, remarks, steps = run_import(write_csv(tmp_path, made))
    assert (totals.imported, totals.refused, steps) == (15, 5, 20)
    assert [remark.line for remark in remarks] == [3, 7, 11, 15, 19]


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("url", "https://[shop]/item"),
        ("url", "https://exa\u2100mple.com/"),
        ("stock", " ".join(["123"] * 11)),
    ],
)
def test_a_cell_of_which_nothing_can_be_made_costs_its_row_alone(tmp_path, column, cell):
    made = [make_row(n, **({column: cell} if n == 1 else {})) for n in range(3)]
    totals, remarks, steps = run_import(write_csv(tmp_path, made))
    assert (totals.imported, totals.refused, steps) == (2, 1, 3)
    assert [(remark.line, remark.column) for remark in remarks] == [(3, column)]


def test_a_row_with_two_faults_counts_once(tmp_path):
    totals, remarks, _ = run_import(write_csv(tmp_path, [make_row(url="x", was_price="1")]))
    assert (totals.refused, len(remarks)) == (1, 2)


@pytest.mark.parametrize(("number", "batches"), [("", 4), ("B", 5)])
def test_several_deals_share_a_transaction(tmp_path, number, batches):
    path = write_csv(tmp_path, [make_row(n, article_number=number and f"B{n}") for n in range(90)])
    with table.metered() as meter:
        run_import(path)
    # The brand; 23 deals, or 18 with article numbers, and one of each counter are about 99 actions.
    assert transactions(meter) == 1 + batches


@pytest.mark.parametrize("spread", [1, 7, 40])
def test_no_transaction_is_too_large_however_the_deals_are_spread(tmp_path, spread):
    made = [
        make_row(
            n,
            brand=f"Brand {n % spread}",
            category=list(categories.CATEGORIES)[n % 8],
            published_at=f"20{10 + n % 11}-{n % 12 + 1:02d}-{n % 28 + 1:02d}T10:00:00Z",
        )
        for n in range(150)
    ]
    totals, remarks, _ = run_import(write_csv(tmp_path, made))
    assert (totals.imported, remarks) == (150, [])


def test_a_deal_that_the_table_refuses_is_found_and_reported_alone(tmp_path, monkeypatch):
    publish = publish_many

    def refusing(new, **options):
        if any(content.title == "Lamp 13" for _, content, _ in new):
            raise Conflict("Not this one.")
        publish(new, **options)

    monkeypatch.setattr(deal_publishing, "publish_many", refusing)
    totals, remarks, steps = run_import(write_csv(tmp_path, [make_row(n) for n in range(30)]))
    assert (totals.imported, totals.refused, steps) == (29, 1, 30)
    assert [(remark.line, remark.value, remark.reason) for remark in remarks] == [
        (15, "Lamp 13", "Not this one.")
    ]


def test_a_deal_that_comes_in_elsewhere_meanwhile_is_no_fault(tmp_path, monkeypatch):
    path = write_csv(tmp_path, [make_row(n) for n in range(6)])
    new = check_file(path)
    publish, calls = publish_many, []

    def late(batch, **options):
        calls.append(len(batch))
        if len(calls) == 1:
            deal_publishing.publish(new[2].content, deal_id=new[2].id, brand=batch[0][2], by="jonas", now=NOW)
        publish(batch, **options)

    monkeypatch.setattr(deal_publishing, "publish_many", late)
    totals, remarks, steps = run_import(path)
    assert (totals.imported, totals.there, remarks, steps) == (5, 1, [], 6)
    assert calls == [6, 5]
    assert deals.get(new[2].id).updated_by == "jonas"


def test_a_brand_that_is_created_elsewhere_meanwhile_is_no_fault(tmp_path, monkeypatch):
    create_many = brands.create_many

    def late(names, **options):
        brands.create("LAMPADINE", by="jonas", now=NOW)
        return create_many(names, **options)

    monkeypatch.setattr(brands, "create_many", late)
    totals, remarks, _ = run_import(write_csv(tmp_path, [make_row(), make_row(1, brand="Other")]))
    assert (totals.imported, totals.brands, remarks) == (2, 1, [])
    assert brands.get("lampadine").name == "LAMPADINE"


def test_a_brand_that_is_renamed_meanwhile_is_read_again(tmp_path, monkeypatch):
    brand = brands.create("Lampadine", by="jonas", now=NOW)
    publish, calls = publish_many, []

    def renamed(batch, **options):
        calls.append(len(batch))
        if len(calls) == 1:
            brands.edit(brand, name="Lampadine Light", description="", logo=None, by="jonas", now=NOW)
        publish(batch, **options)

    monkeypatch.setattr(deal_publishing, "publish_many", renamed)
    path = write_csv(tmp_path, [make_row(n) for n in range(3)])
    totals, remarks, _ = run_import(path)
    assert (totals.imported, remarks) == (3, [])
    assert deals.get(check_file(path)[0].id).card.brand_name == "Lampadine Light"


def test_a_brand_that_cannot_be_created_costs_its_own_rows_only(tmp_path, monkeypatch):
    create = brands.create

    def refusing(name, **options):
        if name == "Bad":
            raise Invalid("Not this brand.")
        return create(name, **options)

    def in_one(names, **options):
        raise AlreadyExists

    monkeypatch.setattr(brands, "create", refusing)
    monkeypatch.setattr(brands, "create_many", in_one)
    made = [make_row(0, brand="Bad"), make_row(1), make_row(2, brand="Bad")]
    totals, remarks, _ = run_import(write_csv(tmp_path, made))
    assert (totals.imported, totals.refused) == (1, 2)
    assert [(remark.line, remark.reason) for remark in remarks] == [
        (2, "Not this brand."),
        (4, "Not this brand."),
    ]


def test_a_table_that_is_slow_for_a_moment_is_waited_for(tmp_path, monkeypatch, pauses):
    publish, calls = publish_many, []

    def slow(batch, **options):
        calls.append(len(batch))
        if len(calls) <= 2:
            raise (Busy, Unavailable)[len(calls) % 2]
        publish(batch, **options)

    monkeypatch.setattr(deal_publishing, "publish_many", slow)
    totals, _, steps = run_import(write_csv(tmp_path, [make_row(n) for n in range(8)]))
    assert (totals.imported, steps) == (8, 8)
    assert calls == [8, 4, 2, 2, 4]  # smaller ones have a better chance
    assert pauses == [0.5, 1.0]


def test_a_table_that_stays_away_ends_the_import_without_blaming_rows(tmp_path, monkeypatch, pauses):
    def away(batch, **options):
        raise Unavailable

    monkeypatch.setattr(deal_publishing, "publish_many", away)
    remarks: list[rows.Remark] = []
    run = Import(by="mara", now=NOW, report=remarks.append, step=lambda count: None)
    path = write_csv(tmp_path, [make_row(n) for n in range(3)])
    with pytest.raises(Unavailable):
        run.run(results_of(path))
    assert (remarks, run.totals.refused) == ([], 0)
    assert pauses == [0.5, 1.0, 2.0, 4.0]


def test_pictures_are_added_and_a_failed_one_is_reported(tmp_path):
    def fetch(new):
        assert [one.line for one in new] == [2, 4]
        return {2: PICTURE, 4: "The server answered 404."}

    made = [
        make_row(0, image_url="https://images.example/0.jpg"),
        make_row(1),
        make_row(2, image_url="https://images.example/2.jpg"),
    ]
    path = write_csv(tmp_path, made)
    totals, remarks, _ = run_import(path, pictures=fetch)
    assert (totals.imported, totals.pictures, totals.refused, totals.notes) == (3, 1, 0, 1)
    stored = [deals.get(new.id).content.picture for new in check_file(path)]
    assert stored == [PICTURE, None, None]
    (remark,) = remarks
    assert (remark.line, remark.column, remark.refused) == (4, "image_url", False)
    assert remark.reason == "Imported without its picture. The server answered 404."
    job = jobs.take_next(now=NOW + DAY)  # its further files are made outside the import
    assert (job.kind, job.payload) == ("make_renditions", {"pictures": [PICTURE.name]})
