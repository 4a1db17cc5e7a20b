import gzip

import pytest
from django.http import FileResponse, HttpResponse, StreamingHttpResponse
from django.test import RequestFactory

from dealsite.web.compression import CompressionMiddleware, best_encoding

ACCEPTED = {
    "": "",
    "gzip": "gzip",
    "br": "br",
    "gzip, deflate, br, zstd": "br",
    "GZIP": "gzip",
    "gzip;q=0": "",
    "gzip;q=0.0": "",
    "gzip; q=0.000, *;q=0": "",
    "br;q=0, gzip": "gzip",
    "gzip;q=1, br;q=0.5": "gzip",
    "gzip;q=0.5, br;q=0.5": "br",
    "*": "br",
    "*;q=0": "",
    "br;q=0, *": "gzip",
    "identity": "",
    "identity;q=1, gzip;q=0.5": "",
    "identity;q=0.5, gzip;q=0.5": "gzip",
    "identity;q=0": "",
    "gzip;q=2": "",
    "gzip;q=": "",
    "gzip;q=nan": "",
    "gzip;q=-1": "",
    "gzipped, bro": "",
    "x" * 9000: "",
}


@pytest.mark.parametrize(("header", "wanted"), ACCEPTED.items())
def test_a_browser_gets_what_it_takes(header, wanted):
    request = RequestFactory().get("/", headers={"Accept-Encoding": header})
    assert best_encoding(request) == wanted


TEXT = b"deals " * 500


def sent(response, accepted="br, gzip"):
    request = RequestFactory().get("/", headers={"Accept-Encoding": accepted})
    return CompressionMiddleware(lambda request: response)(request)


@pytest.mark.parametrize(
    "content_type",
    [
        "text/html; charset=utf-8",
        "text/csv",
        "application/json",
        "application/atom+xml; charset=utf-8",
        "application/xml",
    ],
)
def test_texts_are_compressed(content_type):
    answer = sent(HttpResponse(TEXT, content_type=content_type))
    assert (answer["Content-Encoding"], gzip.decompress(answer.content)) == ("gzip", TEXT)
    assert answer["Vary"] == "Accept-Encoding"
    plain = sent(HttpResponse(TEXT, content_type=content_type), "br, gzip;q=0")
    assert (plain.content, plain["Vary"], plain.has_header("Content-Encoding")) == (
        TEXT,
        "Accept-Encoding",
        False,
    )


def test_what_is_small_compressed_already_or_a_file_stays_as_it_is(tmp_path):
    (tmp_path / "a.csv").write_bytes(TEXT)
    with (tmp_path / "a.csv").open("rb") as file:
        answers = [
            HttpResponse(b"short"),
            HttpResponse(TEXT, content_type="image/webp"),
            FileResponse(file, content_type="text/csv"),
        ]
        assert [sent(answer).has_header("Content-Encoding") for answer in answers] == [False] * 3
    assert sent(HttpResponse(TEXT, headers={"Content-Encoding": "br"})).content == TEXT


def test_a_long_list_is_compressed_as_it_comes():
    answer = sent(StreamingHttpResponse(iter([TEXT] * 5), content_type="text/csv"))
    assert gzip.decompress(b"".join(answer)) == TEXT * 5


def test_the_length_of_a_page_says_nothing_of_what_is_on_it():
    """Else a guess that is right would be told by a page one byte shorter (BREACH)."""
    lengths = {len(sent(HttpResponse(TEXT)).content) for _ in range(50)}
    assert max(lengths) - min(lengths) > 20
