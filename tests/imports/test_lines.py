"""Reading CSV files, whole and damaged."""

import gzip

import pytest

from dealsite.imports import lines
from dealsite.imports.lines import BadFile, Record


def records(folder, content):
    path = folder / "file.csv"
    path.write_bytes(content)
    return list(lines.read(path))


def test_quotes_commas_and_line_breaks_are_read(tmp_path):
    content = b'a,b\r\n"1,5","say ""hi"""\r\n"two\nlines",x\n\n'
    assert records(tmp_path, content) == [
        Record(1, ["a", "b"]),
        Record(2, ["1,5", 'say "hi"']),
        Record(3, ["two\nlines", "x"]),
    ]


def test_a_compressed_file_is_read_whatever_it_is_called(tmp_path):
    assert records(tmp_path, gzip.compress(b"a,b\n1,2\n")) == [Record(1, ["a", "b"]), Record(2, ["1", "2"])]


def test_a_byte_order_mark_is_dropped(tmp_path):
    assert records(tmp_path, b"\xef\xbb\xbfa,b\n")[0].cells == ["a", "b"]


def test_a_last_line_without_an_end_is_read(tmp_path):
    assert records(tmp_path, b"a,b\n1,2")[1].cells == ["1", "2"]


def test_a_stray_quote_within_a_cell_is_a_character(tmp_path):
    assert records(tmp_path, b'24.5" monitor,x\n1,2\n')[0].cells == ['24.5" monitor', "x"]


def test_a_quote_never_closed_costs_one_line(tmp_path):
    content = b'a,b\n"open,2\n3,4\n5,6\n'
    assert records(tmp_path, content) == [
        Record(1, ["a", "b"]),
        Record(2, [], "A quote is opened here and never closed.", '"open,2\n'),
        Record(3, ["3", "4"]),
        Record(4, ["5", "6"]),
    ]


def test_a_quote_never_closed_in_a_long_file_costs_one_line(tmp_path):
    content = b'"open,2\n' + b"".join(b"%d,x\n" % n for n in range(3 * lines.RECORD_LINES)) + b'"q",z\n'
    found = records(tmp_path, content)
    assert [record.line for record in found] == list(range(1, 3 * lines.RECORD_LINES + 3))
    assert [record.line for record in found if record.problem] == [1]


def test_a_record_without_end_is_not_gathered_in_memory(tmp_path):
    found = records(tmp_path, b'"\n",' * 3 * lines.RECORD_LINES + b"x\n1,2\n")
    assert (
        found[0].problem == "The row has more than 1,000 lines; a quote may be opened here and never closed."
    )
    assert found[-1].cells == ["1", "2"]


def test_text_after_a_closing_quote_costs_one_line(tmp_path):
    found = records(tmp_path, b'"a"b,c\n1,2\n')
    assert found[0].problem == "Something follows a closing quote; write quotes within a cell twice."
    assert found[1] == Record(2, ["1", "2"])


def test_a_huge_cell_costs_one_line(tmp_path):
    found = records(tmp_path, b"x" * 200_000 + b",1\n1,2\n")
    assert (found[0].cells, found[0].problem) == ([], "A cell is longer than 131,072 characters.")
    assert found[1:] == [Record(2, ["1", "2"])]


def test_a_line_without_end_is_not_read_into_memory(tmp_path):
    found = records(tmp_path, b"x," * 3_000_000 + b"\n1,2\n")
    assert len(found[0].cells) <= lines.LINE_BYTES
    assert found[1] == Record(2, ["1", "2"])


def test_bytes_that_are_not_utf8_are_kept_for_the_report(tmp_path):
    assert records(tmp_path, b"caf\xe9,1\n")[0].cells == ["caf\udce9", "1"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n".encode("utf-16"), "UTF-16"),
        (b"PK\x03\x04rest", "spreadsheet or zip"),
        (gzip.compress(b"a,b\n" * 5000)[:-20], "damaged or ends too early"),
        (b"\x1f\x8bnot gzip at all", "damaged or ends too early"),
    ],
    ids=["UTF-16", "zip", "cut off gzip", "no gzip"],
)
def test_a_file_that_is_no_csv_is_refused_with_its_reason(tmp_path, content, message):
    with pytest.raises(BadFile, match=message):
        records(tmp_path, content)


def test_a_missing_file_is_refused_with_its_reason(tmp_path):
    with pytest.raises(BadFile, match="cannot be read"):
        list(lines.read(tmp_path / "none.csv"))


def test_records_are_counted_for_the_progress_bar(tmp_path):
    path = tmp_path / "file.csv"
    for content in (b"a,b\n1,2\n3,4\n", gzip.compress(b"a,b\n1,2\n3,4\n")):
        path.write_bytes(content)
        assert lines.count(path) == 2
    assert lines.count(tmp_path / "none.csv") == 0
