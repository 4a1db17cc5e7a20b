"""Files of payments: every line is one payment, in whatever segment; what is wrong is named by its line."""

from __future__ import annotations

import base64
import gzip
import json
from datetime import UTC, datetime
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from dealsite.data import table
from dealsite.data.commerce.payment import payment_loads
from dealsite.imports.csv_files import BadFile
from dealsite.loads.files import FileSource, payment_of
from dealsite.loads.payments import GeneratedSource
from tests.builders import NOW

LINE = {"account": "ann", "due_at": "2026-12-01T09:00:00Z", "amount": "12.50"}


def write(folder, *lines, name="payments.jsonl"):
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def as_json(**more):
    return json.dumps({**LINE, **more})


def read(source, segments=1):
    return [
        payment
        for number in range(segments)
        for payment, _, _ in source.payments(*source.bounds(number, segments))
    ]


def test_a_line_of_json_is_a_payment(tmp_path):
    source = FileSource(write(tmp_path, as_json(id="x1", data="Grüße", method="test:approve")))
    (payment,) = read(source)
    due_at = datetime(2026, 12, 1, 9, tzinfo=UTC)
    assert (payment.account, payment.amount, payment.due_at, payment.next_at) == (
        "ann",
        Decimal("12.50"),
        due_at,
        due_at,
    )
    assert (payment.data, payment.method, payment.order) == ("Grüße".encode(), "test:approve", "")


def test_a_line_of_csv_is_the_same_payment(tmp_path):
    lines = ("account,due_at,amount,id,data_base64", f"ann,{LINE['due_at']},12.50,x1,")
    (of_csv,) = read(FileSource(write(tmp_path, *lines, name="payments.csv")))
    (of_json,) = read(FileSource(write(tmp_path, as_json(id="x1"))))
    assert of_csv == of_json


def test_a_csv_file_is_the_same_however_it_was_saved(tmp_path, subtests):
    for save in [
        lambda text: text.replace(",", ";").encode("cp1252"),
        lambda text: ("sep=|\n" + text.replace(",", "|")).encode("utf-8-sig"),
        lambda text: text.replace("\n", "\r").encode(),
        lambda text: text.encode("utf-16"),
        lambda text: gzip.compress(text.encode()),
    ]:
        with subtests.test(save=save):
            lines = [f"ann,{LINE['due_at']},{n}.50,x{n},Grüße" for n in range(1, 40)]
            text = "\n".join(["account,due_at,amount,id,data", *lines, ""])
            plain, other = tmp_path / "plain.csv", tmp_path / "other.csv"
            plain.write_text(text)
            other.write_bytes(save(text))
            assert read(FileSource(other), 7) == read(FileSource(plain), 1)
            other.write_bytes(save(text.replace("7.50", "x")))
            with pytest.raises(BadFile, match=r"Line [89] of other\.csv: x is no amount"):
                read(FileSource(other), 7)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"account,due_at,amount\n\n", "holds no row"),
        (b"PK\x03\x04xl/", "Excel"),
        (b"", "empty"),
    ],
)
def test_a_file_without_payments_is_refused(tmp_path, content, why):
    path = tmp_path / "payments.csv"
    path.write_bytes(content)
    with pytest.raises(BadFile, match=why):
        FileSource(path)


def test_data_may_be_bytes(tmp_path):
    blob = bytes(range(256)) * 32
    source = FileSource(write(tmp_path, as_json(data_base64=base64.b64encode(blob).decode())))
    assert read(source)[0].data == blob


def test_payments_are_told_apart_by_account_and_id_or_by_the_whole_line(tmp_path):
    lines = (
        as_json(id="1"),
        as_json(id="1", account="bob"),
        as_json(id="2"),
        as_json(),
        as_json(amount="13"),
        as_json(),
    )
    ids = [payment.id for payment in read(FileSource(write(tmp_path, *lines)))]
    assert len(set(ids)) == 5
    assert ids[3] == ids[5]


@given(
    lengths=st.lists(st.integers(min_value=0, max_value=40), min_size=1, max_size=30),
    segments=st.integers(min_value=1, max_value=9),
    ends=st.booleans(),
)
def test_segments_hold_each_line_once_and_in_order(lengths, segments, ends, tmp_path_factory):
    lines = [as_json(id=str(number), data="x" * length) for number, length in enumerate(lengths)]
    lines.insert(len(lines) // 2, "")
    path = tmp_path_factory.mktemp("loads") / "payments.jsonl"
    path.write_text("\n".join(lines) + ("\n" if ends else ""))
    source = FileSource(path)
    assert [payment.id for payment in read(source, segments)] == [payment.id for payment in read(source)]
    assert len(read(source)) == len(lengths)


def test_any_place_in_a_segment_can_be_resumed(tmp_path):
    source = FileSource(write(tmp_path, *(as_json(id=str(number)) for number in range(9))))
    start, end = source.bounds(0, 1)
    found = list(source.payments(start, end))
    for number, (_, position, following) in enumerate(found):
        assert list(source.payments(position, end)) == found[number:]
        assert list(source.payments(following, end)) == found[number + 1 :]


def test_the_same_content_is_the_same_load_and_other_content_another(tmp_path):
    one = FileSource(write(tmp_path, as_json(id="1"), name="a.jsonl"))
    same = FileSource(write(tmp_path, as_json(id="1"), name="b.jsonl"))
    other = FileSource(write(tmp_path, as_json(id="2"), name="c.jsonl"))
    assert one.id == same.id != other.id


def test_a_line_that_cannot_be_taken_is_named(tmp_path, subtests):
    for line, what in [
        ("{", "Expecting"),
        ("[1]", "no object"),
        ('{"account": "ann"}', "due_at is missing"),
        (as_json(colour="red"), "no object with the fields"),
        (as_json(account="a#b"), "cannot be part of a key"),
        (as_json(account="a" * 201), "too long"),
        (as_json(due_at="2026-12-01T09:00:00"), "needs a time zone"),
        (as_json(due_at="soon"), "Invalid isoformat"),
        (as_json(due_at="2000-01-01T00:30:00+01:00"), "from 2000 to 2100 in UTC"),
        (as_json(due_at="9999-12-31T23:00:00-05:00"), "from 2000 to 2100 in UTC"),
        (as_json(amount="12.505"), "no amount"),
        (as_json(amount=0), "no amount"),
        (as_json(amount=-1), "no amount"),
        (as_json(amount="NaN"), "no amount"),
        (as_json(amount=True), "amount is missing"),
        (as_json(amount="ten"), "ten is no amount such as 12.50."),
        (as_json(data="x" * 8193), "8,193 bytes"),
        (as_json(data_base64="?"), "not base64"),
        ("[" * 50_000, "Line 2"),
        (as_json(data="x" * 120_000), "longer than"),
        ('{"account": "\\ud800", "due_at": "2026-12-01T09:00:00Z", "amount": 1}', "cannot be part"),
    ]:
        with subtests.test(line=line, what=what):
            source = FileSource(write(tmp_path, as_json(), line))
            with pytest.raises(BadFile, match=r"Line 2 of payments\.jsonl") as failed:
                read(source, 3)
            assert what in str(failed.value)


@pytest.mark.parametrize(
    "lines",
    [("account,due_at", "ann,x"), ("account,due_at,amount,colour", "ann,x,1,red")],
)
def test_a_header_with_other_fields_is_refused(lines, tmp_path):
    with pytest.raises(BadFile, match="header"):
        FileSource(write(tmp_path, *lines, name="payments.csv"))


@pytest.mark.parametrize("line", ["ann,2026-12-01T09:00:00Z", 'ann,"2026-12-01T09:00:00Z,1'])
def test_a_line_of_csv_that_does_not_fit_its_header_is_refused(line, tmp_path):
    source = FileSource(write(tmp_path, "account,due_at,amount", line, name="payments.csv"))
    with pytest.raises(BadFile, match="Line 2"):
        read(source)


def test_amounts_in_json_numbers_are_exact():
    payment = payment_of({**LINE, "amount": Decimal("0.29")}, b"")
    assert payment.amount == Decimal("0.29")


def test_generated_payments_are_always_the_same():
    source = GeneratedSource(20, first=NOW, size=100)
    one, again = read(source, 3), read(GeneratedSource(20, first=NOW, size=100), 7)
    assert one == again
    assert len({payment.id for payment in one}) == 20
    assert {len(payment.data) for payment in one} == {100}


# The command


@pytest.fixture
def few_segments(monkeypatch):
    monkeypatch.setattr(payment_loads, "SEGMENTS", 3)


def command(*args):
    out = StringIO()
    call_command("load_payments", *args, stdout=out, stderr=StringIO())
    return out.getvalue()


def count():
    return sum(item["type"] == "Payment" for item in table.scan_all(consistent=True))


@pytest.mark.parametrize("processes", ["1", "2"])
@pytest.mark.usefixtures("whole_table", "few_segments")
def test_the_command_loads_a_file_and_repeats_nothing(processes, tmp_path):
    path = write(tmp_path, *(as_json(id=str(number)) for number in range(25)))
    assert "payments.jsonl: 25 payments loaded, 0 were there already." in command(
        str(path), "--processes", processes
    )
    assert "25 payments loaded, 0 were there already. 0 a second." in command(str(path))
    more = write(tmp_path, *(as_json(id=str(number)) for number in range(30)), name="more.jsonl")
    assert "5 payments loaded, 25 were there already." in command(str(more), "--processes", processes)
    assert count() == 30


@pytest.mark.usefixtures("whole_table", "few_segments")
def test_the_command_names_a_bad_line_and_goes_on_when_it_is_fixed(tmp_path):
    path = write(tmp_path, *(as_json(id=str(number)) for number in range(20)), as_json(amount="x"))
    with pytest.raises(CommandError, match=r"Line 21 of payments\.jsonl"):
        command(str(path), "--processes", "2")
    write(tmp_path, *(as_json(id=str(number)) for number in range(20)), as_json(amount="1"))
    command(str(path))
    assert count() == 21


@pytest.mark.usefixtures("whole_table", "few_segments")
def test_the_command_makes_payments_up():
    assert "40 generated payments: 40 payments loaded" in command("--generate", "40", "--size", "50")
    assert count() == 40


@pytest.mark.parametrize(
    "args",
    [(), ("--generate", "0"), ("--generate", "5", "--size", "9000"), ("--generate", "5", "--processes", "0")],
)
def test_the_command_refuses_what_makes_no_sense(args):
    with pytest.raises(CommandError):
        command(*args)


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(CommandError, match="nowhere"):
        command("nowhere.jsonl")
