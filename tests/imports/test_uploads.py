"""What a file is: encoding, separator, columns; and reading it as UTF-8."""

import io

import pytest

from dealsite.imports import uploads
from dealsite.imports.lines import BadFile

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
    found = uploads.look(file)
    assert found.encoding == encoding
    if encoding != "utf-8" or found.separator == ";":
        assert b"".join(uploads.as_utf8(file, encoding)).decode() == TEXT
        assert (found.titles, found.samples) == (["Artikel", "Preis"], [["Küche", "12,50"], ["Bett", "9,99"]])
    assert found.rows in (1, 2)


def test_one_damaged_row_does_not_make_the_file_another_one():
    content = "title,price\nKüche,1\nGerät,2\n".encode() + b"Caf\xe9,3\n"
    assert uploads.look(io.BytesIO(content)).encoding == "utf-8"


@pytest.mark.parametrize(
    ("line", "separator"),
    [("a,b,c", ","), ("a;b;c", ";"), ("a\tb\tc", "\t"), ('"a,b,c,d";e;f', ";"), ("a", ",")],
    ids=["comma", "semicolon", "tab", "quoted", "one"],
)
def test_the_separator_is_the_one_that_the_first_line_has_most(line, separator):
    assert uploads.look(io.BytesIO(f"{line}\n".encode())).separator == separator


def test_what_was_found_out_wrongly_can_be_said():
    found = uploads.look(io.BytesIO(b"K\xfcche|x,y;z\n1,2;3\n"), encoding="cp1252", separator=";")
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
        uploads.look(io.BytesIO(content))


def test_titles_and_samples_are_short_and_hide_nothing():
    content = f"A\u202ename,,{'x' * 300}\nv\x07alue,\u200b,{'y' * 300}\n".encode()
    found = uploads.look(io.BytesIO(content))
    assert found.titles == ["Aname", "Column 2", "x" * 60]
    assert found.samples == [["v alue", "", "y" * 59 + "…"]]


def test_undecodable_bytes_and_lone_surrogates_stay_so():
    assert b"".join(uploads.as_utf8(io.BytesIO(b"a\xff"), "utf-8")) == b"a\xff"
    assert b"".join(uploads.as_utf8(io.BytesIO(b"a\x81"), "cp1252")) == b"a\x81"
    with pytest.raises(UnicodeDecodeError):
        b"".join(uploads.as_utf8(io.BytesIO(b"a\x00\x00\xd8b\x00"), "utf-16-le")).decode()


def test_a_cut_of_a_file_is_read_up_to_there():
    assert b"".join(uploads.as_utf8(io.BytesIO(b"abcdef"), "utf-8", most=4)) == b"abcd"
