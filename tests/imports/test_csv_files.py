"""Reading CSV files, whole and damaged, in every encoding and with every separator; refusing what is none."""

import contextlib
import gzip
import io
import random
import tracemalloc

import pytest
from hypothesis import given, strategies as st

from dealsite.imports import csv_files, csv_format
from dealsite.imports.csv_files import BadFile, CsvFormat, Record
from tests.imports.builders import records_of


def records(folder, content):
    path = folder / "file.csv"
    path.write_bytes(content)
    return list(records_of(path))


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
    assert len(found[0].cells) <= csv_files.LINE_CHARACTERS
    assert found[1] == Record(2, ["1", "2"])


def test_bytes_that_are_not_utf8_are_kept_for_the_report(tmp_path):
    content = "Küche,1\nBär,2\n".encode() + b"caf\xe9,3\n"
    assert records(tmp_path, content)[2].cells == ["caf\udce9", "3"]


def not_csv(content: bytes) -> str:
    """Return what is said of some bytes that cannot be taken, the same whoever reads them."""
    with pytest.raises(BadFile) as refused:
        csv_format.inspect(io.BytesIO(content))
    return str(refused.value)


ZIP = b"PK\x03\x04\x14\x00\x08\x00\x08\x00"


def test_what_is_no_csv_is_refused_as_what_it_is(subtests):
    for content, said in [
        (b"", "The file is empty."),
        (b" \n\n", "The file is empty."),
        (b"\xff\xfe", "The file is empty."),
        (ZIP + b"[Content_Types].xml...xl/workbook.xml", "This is an Excel workbook. Save it as CSV."),
        (b"\xd0\xcf\x11\xe0rest", "This is an Excel workbook. Save it as CSV."),
        (
            ZIP + b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
            "This is an OpenDocument spreadsheet. Save it as CSV.",
        ),
        (ZIP + b"a.csv", "This is a zip archive. Unpack it, and take the CSV file in it."),
        (b"%PDF-1.7", "This is a PDF file. Save its table as CSV."),
        (b"\x89PNG\r\n\x1a\n", "This is a picture, no CSV file."),
        (b"\xff\xd8\xff\xe0", "This is a picture, no CSV file."),
        (b"\n<!DOCTYPE html><title>Sign in", "This is a web page, no CSV file. Save it as CSV."),
        (b"\x7fELF\x02\x01\x01" + bytes(9), "This is no text file. Save the table as CSV."),
        (b"SQLite format 3\x00\x10\x00", "This is no text file. Save the table as CSV."),
        (random.Random(1).randbytes(5000), "This is no text file. Save the table as CSV."),
        (b"\xff\xfe" + random.Random(2).randbytes(5000), "This is no text file. Save the table as CSV."),
        (b'a\n"b,c\n', ""),
        (b'"a,b\n', "Line 1 should name the columns. A quote is opened here and never closed."),
        (b'sep=;\n"a;b\n', "Line 2 should name the columns. A quote is opened here and never closed."),
        (b"," * 500 + b"\n", "The file has more than 500 columns."),
        (b"x" * 400_000 + b"\n", "Line 1 should name the columns. A cell is longer than 131,072 characters."),
        (b"title,price\n", "The file names its columns, and holds no row."),
        (b"sep=;\r\ntitle;price\r\n;\r\n", "The file names its columns, and holds no row."),
    ]:
        with subtests.test(content=content, said=said):
            if said:
                assert not_csv(content) == said
            else:
                csv_format.inspect(io.BytesIO(content))


def test_the_command_refuses_the_same_files(tmp_path):
    for content, said in ((ZIP + b"xl/", "Excel workbook"), (b"\x00\x01", "no text"), (b"", "empty")):
        with pytest.raises(BadFile, match=said):
            records(tmp_path, content)


@pytest.mark.parametrize(
    "content",
    [gzip.compress(random.Random(3).randbytes(9000))[:-20], b"\x1f\x8bnot gzip at all"],
    ids=["cut off", "no gzip"],
)
def test_a_damaged_archive_is_refused_with_its_reason(tmp_path, content):
    with pytest.raises(BadFile, match="damaged or ends too early"):
        records(tmp_path, content)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(content):
    with contextlib.suppress(BadFile):
        assert csv_format.inspect(io.BytesIO(content)).titles


def test_a_missing_file_is_refused_with_its_reason(tmp_path):
    with pytest.raises(BadFile, match="cannot be read"):
        list(records_of(tmp_path / "none.csv"))


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_records_are_counted_for_the_progress_bar(newline):
    assert csv_files.count(io.BytesIO(newline.join((b"a,b", b"1,2", b"3,4", b"")))) == 2


def test_lines_of_old_macs_are_read(tmp_path):
    content = b'a,b\r1,"two\rlines"\r\r3,4'
    assert records(tmp_path, content) == [
        Record(1, ["a", "b"]),
        Record(2, ["1", "two\nlines"]),
        Record(5, ["3", "4"]),
    ]


@pytest.mark.parametrize("first", ["sep=;", "SEP=;", '"sep=;"', "sep=;\r"])
def test_a_first_line_that_names_the_separator_is_no_header(tmp_path, first):
    assert records(tmp_path, f"{first}\na,b;c\n1,2;3\n".encode()) == [
        Record(2, ["a,b", "c"]),
        Record(3, ["1,2", "3"]),
    ]


def test_a_column_may_be_called_so(tmp_path):
    assert records(tmp_path, b"sep=;,b\n1,2\n")[0].cells == ["sep=;", "b"]


def test_a_file_is_read_in_pieces_wherever_they_end(tmp_path, monkeypatch):
    content = 'Größe;x\r\n"a\r\nb";€\r\n12,5;y\r\n'
    for encoding in ("utf-8-sig", "utf-16", "cp1252"):
        for size in (20, 21, 22, 23):
            monkeypatch.setattr(csv_files, "CHUNK", size)
            assert [record.cells for record in records(tmp_path, content.encode(encoding))] == [
                ["Größe", "x"],
                ["a\r\nb", "€"],
                ["12,5", "y"],
            ]


@pytest.mark.thorough
def test_a_large_file_takes_little_memory(tmp_path):
    path = tmp_path / "file.csv"
    row = "Lamp;12,50;https://shop.example/1;ü\n".encode("utf-16-le")
    path.write_bytes(b"\xff\xfe" + row * 100_000)
    tracemalloc.start()
    try:
        assert sum(1 for _ in records_of(path)) == 100_000
        assert tracemalloc.get_traced_memory()[1] < 12_000_000  # the cells of all rows take 40 MB
    finally:
        tracemalloc.stop()


TEXT = "Artikel;Preis\nKüche;12,50\nBett;9,99\n"


def test_the_encoding_is_found_out(subtests):
    for content, encoding in [
        (TEXT.encode(), "utf-8"),
        (b"\xef\xbb\xbf" + TEXT.encode(), "utf-8-sig"),
        (TEXT.encode("utf-16"), "utf-16-le"),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), "utf-16-be"),
        (TEXT.encode("utf-16-le"), "utf-16-le"),
        (TEXT.encode("utf-16-be"), "utf-16-be"),
        (TEXT.encode("cp1252"), "cp1252"),
        (b"a,b\n1,2\n", "utf-8"),
    ]:
        with subtests.test(content=content, encoding=encoding):
            file = io.BytesIO(content)
            found = csv_format.inspect(file)
            assert found.encoding == encoding
            if encoding != "utf-8" or found.separator == ";":
                assert (found.titles, found.samples) == (
                    ["Artikel", "Preis"],
                    [["Küche", "12,50"], ["Bett", "9,99"]],
                )
            assert found.rows in (1, 2)


def test_a_code_page_is_guessed_where_its_words_tell(subtests):
    polish, german, french = "Łódź żółta,Śnieżka", "Küchenlampe größer,schön", "Café crème,été à Noël"
    for content, encoding in [
        (polish, "cp1250"),
        (german, "cp1252"),
        (f"{french},L’Oréal ½ l, 10³ ©Acme", "cp1252"),
        ("12,50 €", "cp1252"),
        (german, "mac-roman"),
        (french, "cp850"),
        ("Лампа настольная,Светлый дом", "cp1251"),
        ("厨房灯具,光明", "gb18030"),
        ("キッチンランプ,台所の灯り", "cp932"),
    ]:
        with subtests.test(content=content, encoding=encoding):
            assert csv_format.inspect(io.BytesIO(f"a,b\n{content}\n".encode(encoding))).encoding == encoding
    shown = csv_files.in_each(f"a,b\n{polish}\n".encode("cp1250"))
    assert (shown["cp1250"], shown["cp1252"]) == (polish, "£ódŸ ¿ó³ta,Œnie¿ka")
    assert "utf-8" not in shown
    assert csv_files.in_each(b"a,b\n1,2\n") == {}


def test_one_damaged_row_does_not_make_the_file_another_one():
    content = "title,price\nKüche,1\nGerät,2\n".encode() + b"Caf\xe9,3\n"
    assert csv_format.inspect(io.BytesIO(content)).encoding == "utf-8"


def test_the_separator_is_the_one_that_most_lines_have_as_often_as_the_first(subtests):
    for line, separator in [
        ("a,b,c", ","),
        ("a;b;c", ";"),
        ("a\tb\tc", "\t"),
        ("a|b|c", "|"),
        ('"a,b,c,d";e;f', ";"),
        ("a", ","),
        ("a,b,c;d\n1;2\n3;4", ";"),
        ("Artikel;Preis, brutto;Marke\nLampe;12,90;Vela\nStuhl;9,90;Vela\nTisch", ";"),
        ("name|price;a;b\n1|2\n3|4\n5|6", "|"),
        ("sep=|\na;b|c;d\n1;2|3;4", "|"),
        ('"a;\nb";c\n1;2', ";"),
    ]:
        with subtests.test(line=line, separator=separator):
            assert csv_format.format_of(io.BytesIO(f"{line}\n".encode())).separator == separator


def test_what_was_found_out_wrongly_can_be_said():
    found = csv_format.inspect(io.BytesIO(b"K\xfcche|x,y;z\n1,2;3\n"), encoding="cp1252", separator=";")
    assert (found.encoding, found.titles) == ("cp1252", ["Küche|x,y", "z"])


def test_titles_and_samples_are_short_and_hide_nothing():
    content = f"A\u202ename,,{'x' * 300}\nv\x07alue,\u200b,{'y' * 300}\n".encode()
    found = csv_format.inspect(io.BytesIO(content))
    assert found.titles == ["Aname", "Column 2", "x" * 60]
    assert found.samples == [["v alue", "", "y" * 59 + "…"]]


def test_what_cannot_be_decoded_is_kept_for_the_report():
    for content, encoding, cell in (
        (b"a\xff", "utf-8", "a\udcff"),
        (b"a\xc3", "utf-8", "a\udcc3"),
        (b"a\x81", "cp1252", "a\udc81"),
        (b"a\x00\x00\xd8b\x00", "utf-16-le", "a\ud800b"),
        (b"a\x00b", "utf-16-le", "a"),
    ):
        found = csv_files.records(io.BytesIO(content), CsvFormat(encoding, ","))
        assert [record.cells for record in found] == [[cell]]
