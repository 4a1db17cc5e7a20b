"""The addresses of stored pictures, and the view behind them."""

import pytest
from django.http import Http404
from django.template import Context, Template
from django.test import RequestFactory, override_settings

from dealsite.data.catalogue.cards import Picture
from dealsite.pictures import encoding, renditions, uploads

NAME = "pictures/ab/" + "ab" * 16


def make_picture(width):
    return Picture(name=NAME, width=width, height=width, alt="A picture")


@pytest.fixture(autouse=True)
def folder(tmp_path):
    with override_settings(MEDIA_ROOT=tmp_path / "media", MEDIA_URL="/media/"):
        yield tmp_path / "media"


def serve(name, method="get"):
    return renditions.serve_picture(getattr(RequestFactory(), method)(f"/media/{name}"), name)


def test_the_smallest_file_that_is_wide_enough_is_named():
    picture = make_picture(1200)
    assert uploads.url(picture, 100) == f"/media/{NAME}-480.webp"
    assert uploads.url(picture, 480) == f"/media/{NAME}-480.webp"
    assert uploads.url(picture, 481) == f"/media/{NAME}-1200.webp"
    assert uploads.url(picture, 4000) == f"/media/{NAME}-1200.webp"


@pytest.mark.parametrize(
    ("width", "srcset"),
    [
        (1200, f"/media/{NAME}-480.webp 480w, /media/{NAME}-1200.webp 1200w"),
        (800, f"/media/{NAME}-480.webp 480w, /media/{NAME}-1200.webp 800w"),
        (480, f"/media/{NAME}-480.webp 480w"),
        (300, f"/media/{NAME}-480.webp 300w"),
    ],
)
def test_the_srcset_names_each_stored_width_once(width, srcset):
    assert uploads.srcset(make_picture(width), encoding.WIDTHS, "webp") == srcset


def test_a_tall_picture_is_as_wide_as_its_files_are():
    tall = Picture(name=NAME, width=400, height=2400, alt="A tower")  # fitted into 1200 x 2400
    srcset = uploads.srcset(tall, encoding.WIDTHS, "webp")
    assert srcset == f"/media/{NAME}-480.webp 160w, /media/{NAME}-1200.webp 400w"


def test_the_filters_give_the_addresses_to_templates():
    template = Template("{% load dealsite %}{{ p|picture_url:481 }}|{{ p|picture_url }}")
    large, small = f"/media/{NAME}-1200.webp", f"/media/{NAME}-480.webp"
    assert template.render(Context({"p": make_picture(480)})) == f"{large}|{small}"


def test_a_stored_picture_is_served_to_be_kept_for_ever(folder):
    path = folder / f"{NAME}-480.webp"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"RIFF....WEBP")
    response = serve(f"{NAME}-480.webp")
    assert b"".join(response) == b"RIFF....WEBP"
    assert response["Content-Type"] == "image/webp"
    assert response["Content-Length"] == "12"
    assert response["Cache-Control"] == "public, max-age=31536000, immutable"
    assert response["X-Content-Type-Options"] == "nosniff"
    response.close()


def test_only_reading_is_allowed():
    assert serve(f"{NAME}-480.webp", "post").status_code == 405


def test_an_avif_file_is_served_as_one(folder):
    path = folder / f"{NAME}-320.avif"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"avif")
    response = serve(f"{NAME}-320.avif")
    assert response["Content-Type"] == "image/avif"
    response.close()


def test_what_was_uploaded_and_the_sign_that_all_is_made_are_not_served(folder):
    for name in (f"{NAME}-original.webp", f"{NAME}.made"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"there")
        with pytest.raises(Http404):
            serve(name)


def test_nothing_else_is_served(folder, subtests):
    (folder / "pictures" / "ab").mkdir(parents=True)
    (folder.parent / "secret_key").write_text("secret")
    (folder / "secret_key").write_text("secret")
    for name in [
        f"{NAME}-480.webp",  # well formed, but not there
        "../secret_key",
        "pictures/../../secret_key",
        "/etc/passwd",
        "pictures/ab/",
        "pictures/ab/x.html",
        f"{NAME}-480.webp\n",
        f"{NAME}-480.webp/../../../../secret_key",
        f"pictures/ab/..%2f{'ab' * 16}-480.webp",
        f"{NAME.upper()}-480.webp",
        "secret_key",
        "",
    ]:
        with subtests.test(name=name), pytest.raises(Http404):
            serve(name)
