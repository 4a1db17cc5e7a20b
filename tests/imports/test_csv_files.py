"""Reading CSV files, whole and damaged; finding out what a file is, and reading it as UTF-8."""

import gzip
import io

import pytest

from dealsite.imports import csv_files
from dealsite.imports.csv_files import BadFile, Record


def records(folder, content):
    path = folder / "file.csv"
    path.write_bytes(content)
    return list(csv_files.read(path))


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
    content = b'"open,2\n' + b"".join(b"%d,x\n" % n for n in range(3 * csv_files.RECORD_LINES)) + b'"q",z\n'
    found = records(tmp_path, content)
    assert [record.line for record in found] == list(range(1, 3 * csv_files.RECORD_LINES + 3))
    assert [record.line for record in found if record.problem] == [1]


def test_a_record_without_end_is_not_gathered_in_memory(tmp_path):
    found = records(tmp_path, b'"\n",' * 3 * csv_files.RECORD_LINES + b"x\n1,2\n")
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
    assert len(found[0].cells) <= csv_files.LINE_BYTES
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
        list(csv_files.read(tmp_path / "none.csv"))


def test_records_are_counted_for_the_progress_bar(tmp_path):
    path = tmp_path / "file.csv"
    for content in (b"a,b\n1,2\n3,4\n", gzip.compress(b"a,b\n1,2\n3,4\n")):
        path.write_bytes(content)
        assert csv_files.count(path) == 2
    assert csv_files.count(tmp_path / "none.csv") == 0


TEXT = "Artikel;Preis\nKüche;12,50\nBett;9,99\n"


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (TEXT.encode(), "utf-8"),
        (b"\xef\xbb\xbf" + TEXT.encode(), "utf-8-sig"),
        (TEXT.encode("utf-16"), "utf-16-le"),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), "utf-16-be"),
        (TEXT.encode("utf-16-le"), "utf-16-le"),
        (TEXT.encode("utf-16-be"), "utf-16-be"),
        (TEXT.encode("cp1252"), "cp1252"),
        (b"a,b\n1,2\n", "utf-8"),
    ],
    ids=["utf-8", "bom", "utf-16", "utf-16-be", "le without bom", "be without bom", "cp1252", "ascii"],
)
def test_the_encoding_is_found_out_and_the_text_comes_out_in_utf8(content, encoding):
    file = io.BytesIO(content)
    found = csv_files.inspect(file)
    assert found.encoding == encoding
    if encoding != "utf-8" or found.separator == ";":
        assert b"".join(csv_files.as_utf8(file, encoding)).decode() == TEXT
        assert (found.titles, found.samples) == (["Artikel", "Preis"], [["Küche", "12,50"], ["Bett", "9,99"]])
    assert found.rows in (1, 2)


def test_one_damaged_row_does_not_make_the_file_another_one():
    content = "title,price\nKüche,1\nGerät,2\n".encode() + b"Caf\xe9,3\n"
    assert csv_files.inspect(io.BytesIO(content)).encoding == "utf-8"


@pytest.mark.parametrize(
    ("line", "separator"),
    [("a,b,c", ","), ("a;b;c", ";"), ("a\tb\tc", "\t"), ('"a,b,c,d";e;f', ";"), ("a", ",")],
    ids=["comma", "semicolon", "tab", "quoted", "one"],
)
def test_the_separator_is_the_one_that_the_first_line_has_most(line, separator):
    assert csv_files.inspect(io.BytesIO(f"{line}\n".encode())).separator == separator


def test_what_was_found_out_wrongly_can_be_said():
    found = csv_files.inspect(io.BytesIO(b"K\xfcche|x,y;z\n1,2;3\n"), encoding="cp1252", separator=";")
    assert (found.encoding, found.titles) == ("cp1252", ["Küche|x,y", "z"])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b" \n\n", "empty"),
        (b"PK\x03\x04rest", "no CSV"),
        (b"\x1f\x8brest", "no CSV"),
        (b"\xd0\xcf\x11\xe0rest", "no CSV"),
        (b"%PDF-1.7", "no CSV"),
        (b'"a,b\n', "first line"),
        (b"," * 150 + b"\n", "more than 100 columns"),
        (b"x" * 400_000 + b"\n", "first line"),
    ],
    ids=["empty", "blank", "zip", "gzip", "xls", "pdf", "quote", "columns", "long"],
)
def test_a_file_that_cannot_be_taken_is_refused_with_its_reason(content, words):
    with pytest.raises(BadFile, match=words):
        csv_files.inspect(io.BytesIO(content))


def test_titles_and_samples_are_short_and_hide_nothing():
    content = f"A\u202ename,,{'x' * 300}\nv\x07alue,\u200b,{'y' * 300}\n".encode()
    found = csv_files.inspect(io.BytesIO(content))
    assert found.titles == ["Aname", "Column 2", "x" * 60]
    assert found.samples == [["v alue", "", "y" * 59 + "…"]]


def test_undecodable_bytes_and_lone_surrogates_stay_so():
    assert b"".join(csv_files.as_utf8(io.BytesIO(b"a\xff"), "utf-8")) == b"a\xff"
    assert b"".join(csv_files.as_utf8(io.BytesIO(b"a\x81"), "cp1252")) == b"a\x81"
    with pytest.raises(UnicodeDecodeError):
        b"".join(csv_files.as_utf8(io.BytesIO(b"a\x00\x00\xd8b\x00"), "utf-16-le")).decode()


def test_a_cut_of_a_file_is_read_up_to_there():
    assert b"".join(csv_files.as_utf8(io.BytesIO(b"abcdef"), "utf-8", most=4)) == b"abcd"
