"""What store_picture takes, what it makes of it, and what it refuses."""

import io
import struct
import zlib

import boto3
import pytest
from django.core.files.storage import default_storage
from django.test import override_settings
from moto import mock_aws
from PIL import Image, ImageCms

from dealsite.data.table.errors import Invalid
from dealsite.pictures import encoding, uploads

RED, BLUE = (200, 30, 30), (30, 30, 200)


@pytest.fixture(autouse=True)
def media(tmp_path):
    with override_settings(MEDIA_ROOT=tmp_path / "media"):
        yield tmp_path / "media"


def make_file(kind="PNG", size=(1600, 900), mode="RGB", color=RED, **options):
    file = io.BytesIO()
    Image.new(mode, size, color).save(file, kind, **options)
    return file.getvalue()


def stored(picture, width):
    with default_storage.open(uploads.file_name(picture.name, width)) as file:
        image = Image.open(io.BytesIO(file.read()))
        image.load()
        return image


def refusal(data):
    """The sentence that a picture is refused with."""
    with pytest.raises(Invalid) as caught:
        uploads.store_picture(data, "A picture")
    return caught.value.fields["picture"]


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "AVIF", "GIF"])
def test_each_allowed_format_is_stored_at_both_widths(kind):
    picture = uploads.store_picture(make_file(kind), "A red wall")
    assert (picture.width, picture.height, picture.alt) == (1200, 675, "A red wall")
    assert stored(picture, 480).size == (480, 270)
    assert stored(picture, 1200).size == (1200, 675)
    assert stored(picture, 1200).format == "WEBP"


def test_other_formats_are_refused(subtests):
    for kind in ["BMP", "TIFF", "ICO", "PPM", "PDF"]:
        with subtests.test(kind=kind):
            assert refusal(make_file(kind, size=(64, 64))).startswith("This file is not a picture")


def test_a_small_picture_is_never_enlarged():
    picture = uploads.store_picture(make_file(size=(300, 200)), "Small")
    assert (picture.width, picture.height) == (300, 200)
    assert stored(picture, 480).size == stored(picture, 1200).size == (300, 200)


def test_a_very_tall_picture_is_fitted_into_twice_its_width():
    picture = uploads.store_picture(make_file(size=(1500, 9000)), "Tower")
    assert (picture.width, picture.height) == (400, 2400)


def test_a_file_object_is_read_too():
    assert uploads.store_picture(io.BytesIO(make_file()), "Red").width == 1200


def test_storing_a_picture_again_gives_the_same_name_and_no_second_file(media):
    first = uploads.store_picture(make_file(), "Red")
    times = {path: path.stat().st_mtime_ns for path in media.rglob("*.webp")}
    assert uploads.store_picture(make_file(), "Also red").name == first.name
    assert {path: path.stat().st_mtime_ns for path in media.rglob("*.webp")} == times
    assert len(times) == 3


def test_different_pictures_have_different_names():
    assert (
        uploads.store_picture(make_file(color=RED), "").name
        != uploads.store_picture(make_file(color=BLUE), "").name
    )


def test_a_file_cut_short_by_a_crash_is_written_again(media):
    picture = uploads.store_picture(make_file(), "Red")
    path = media / uploads.file_name(picture.name, 1200)
    whole = path.read_bytes()
    path.write_bytes(whole[:20])
    uploads.store_picture(make_file(), "Red")
    assert path.read_bytes() == whole


def test_a_picture_that_came_in_twice_at_one_moment_leaves_one_file(media, monkeypatch):
    class SeesNothingYet:
        def exists(self, name):
            return False

        def __getattr__(self, name):
            return getattr(default_storage, name)

    uploads.store_picture(make_file(), "Red")
    monkeypatch.setattr(uploads, "default_storage", SeesNothingYet())
    uploads.store_picture(make_file(), "Red")
    assert len(list(media.rglob("*.webp"))) == 3


def test_the_orientation_of_a_photograph_is_applied():
    image = Image.new("RGB", (400, 200), RED)
    image.paste(BLUE, (0, 0, 200, 200))  # blue on the left
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees clockwise
    file = io.BytesIO()
    image.save(file, "JPEG", exif=exif, quality=95)
    picture = uploads.store_picture(file.getvalue(), "Turned")
    turned = stored(picture, 1200)
    assert turned.size == (200, 400)
    assert turned.getpixel((100, 50))[2] > 150  # blue is now on top
    assert turned.getpixel((100, 350))[0] > 150


def test_metadata_is_dropped():
    exif = Image.Exif()
    exif[0x010F] = "SECRETMAKER"
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    data = make_file("JPEG", exif=exif, icc_profile=profile, comment=b"SECRETCOMMENT")
    assert b"SECRETMAKER" in data
    assert b"SECRETCOMMENT" in data
    picture = uploads.store_picture(data, "Red")
    names = [uploads.file_name(picture.name, width) for width in encoding.WIDTHS]
    for name in (*names, uploads.original_name(picture.name)):
        with default_storage.open(name) as file:
            content = file.read()
        assert not any(word in content for word in (b"SECRET", b"EXIF", b"ICCP", b"XMP "))


def test_an_animated_picture_keeps_its_first_frame():
    frames = [Image.new("RGB", (300, 300), color) for color in (RED, BLUE)]
    for kind in ("GIF", "WEBP", "AVIF"):
        file = io.BytesIO()
        frames[0].save(file, kind, save_all=True, append_images=frames[1:], duration=100)
        image = stored(uploads.store_picture(file.getvalue(), "Moves"), 1200)
        assert getattr(image, "n_frames", 1) == 1
        assert image.getpixel((150, 150))[0] > 150


def test_transparency_stays():
    image = stored(uploads.store_picture(make_file(mode="RGBA", color=(10, 200, 10, 0)), "Clear"), 480)
    assert image.mode == "RGBA"
    assert image.getpixel((5, 5))[3] == 0


def test_every_mode_of_png_is_taken(subtests):
    for mode in ["1", "L", "LA", "P", "I;16"]:
        with subtests.test(mode=mode):
            color = {"1": 1, "L": 200, "LA": (200, 255), "P": 3, "I;16": 200 * 256}[mode]
            picture = uploads.store_picture(make_file(mode=mode, size=(100, 100), color=color), "Grey")
            if mode in ("L", "I;16"):
                assert abs(stored(picture, 480).convert("L").getpixel((5, 5)) - 200) <= 3


def test_a_cmyk_photograph_is_taken():
    assert uploads.store_picture(make_file("JPEG", mode="CMYK", color=(0, 200, 200, 0)), "Red").width == 1200


def test_a_broken_colour_profile_does_not_matter():
    assert uploads.store_picture(make_file("JPEG", icc_profile=b"no profile at all"), "Red").width == 1200


def test_a_file_over_ten_megabytes_is_refused_without_being_read_whole():
    class Endless:
        taken = 0

        def read(self, size=-1):
            assert size >= 0
            self.taken += size
            return b"\0" * size

    source = Endless()
    assert refusal(source) == "The picture is larger than 10 MB. Choose a smaller one."
    assert source.taken == uploads.MAX_BYTES + 1


def test_an_empty_file_is_refused():
    assert refusal(b"") == "The picture file is empty."


def png_bomb(width, height):
    def chunk(kind, content):
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")


@pytest.mark.parametrize("size", [(5001, 4000), (6000, 6000), (60_000, 60_000)])
def test_a_bomb_is_refused_from_its_header(size, monkeypatch):
    assert refusal(png_bomb(*size)).startswith("The picture has more than 20 million pixels")
    monkeypatch.setattr(Image.Image, "load", _decoded)
    monkeypatch.setattr(encoding, "_upright", _decoded)
    with pytest.raises(
        (encoding.TooManyPixels, Image.DecompressionBombError, Image.DecompressionBombWarning)
    ):
        encoding.encode(png_bomb(*size))


def _decoded(*_):
    raise AssertionError("decoded")


@pytest.mark.parametrize("size", [(5001, 4000), (6000, 6000)])
def test_the_check_of_pixels_does_not_depend_on_pillows_own(size, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    with pytest.raises(encoding.TooManyPixels):
        encoding.encode(png_bomb(*size))


def test_pillow_itself_is_told_the_limit():
    assert Image.MAX_IMAGE_PIXELS == 20_000_000


def test_twenty_million_pixels_are_taken():
    assert uploads.store_picture(make_file("JPEG", size=(5000, 4000)), "Large").width == 1200


def test_a_truncated_picture_is_refused(subtests):
    for kind in ["JPEG", "PNG", "WEBP", "AVIF", "GIF"]:
        with subtests.test(kind=kind):
            noise = Image.effect_noise((400, 400), 90).convert("RGB")
            file = io.BytesIO()
            noise.save(file, kind)
            assert refusal(file.getvalue()[: len(file.getvalue()) // 2]).startswith(
                "This file is not a picture"
            )


def test_a_picture_with_a_wrong_checksum_is_refused():
    data = bytearray(make_file("PNG", size=(50, 50)))
    data[data.index(b"IEND") - 5] ^= 1  # the last byte of the checksum before
    assert refusal(bytes(data)).startswith("This file is not a picture")


def test_what_is_no_picture_is_refused():
    for data in (b"<svg onload=alert(1)></svg>", b"GIF89a", b"\x89PNG\r\n\x1a\n", b"%PDF-1.7", b"\0" * 100):
        assert refusal(data).startswith("This file is not a picture")


def test_a_picture_with_a_program_behind_it_is_made_anew():
    data = make_file("GIF", size=(50, 50)) + b"<script>alert(1)</script>"
    picture = uploads.store_picture(data, "Red")
    with default_storage.open(uploads.file_name(picture.name, 480)) as file:
        assert b"<script" not in file.read()


def test_the_alt_text_is_normalised():
    assert uploads.store_picture(make_file(), "  A\x00 red\n wall ").alt == "A red wall"


S3 = {
    "default": {
        "BACKEND": "storages.backends.s3.S3Storage",
        "OPTIONS": {
            "bucket_name": "pictures-of-deals",
            "region_name": "eu-central-1",
            "access_key": "test",
            "secret_key": "test",
            "custom_domain": "media.example",
            "querystring_auth": False,
            "file_overwrite": False,
            "object_parameters": {"CacheControl": "public, max-age=31536000, immutable"},
        },
    },
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}


def test_pictures_lie_in_a_bucket_as_they_do_on_disk():
    with mock_aws(), override_settings(STORAGES=S3):
        s3 = boto3.client(
            "s3", region_name="eu-central-1", aws_access_key_id="test", aws_secret_access_key="test"
        )
        s3.create_bucket(
            Bucket="pictures-of-deals", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"}
        )
        picture = uploads.store_picture(make_file(), "Red")
        uploads.store_picture(make_file(), "Red again")
        listed = [item["Key"] for item in s3.list_objects_v2(Bucket="pictures-of-deals")["Contents"]]
        assert listed == [f"{picture.name}-{file}.webp" for file in ("1200", "480", "original")]
        assert uploads.url(picture, 480) == f"https://media.example/{picture.name}-480.webp"
        head = s3.head_object(Bucket="pictures-of-deals", Key=listed[0])
        assert head["ContentType"] == "image/webp"
