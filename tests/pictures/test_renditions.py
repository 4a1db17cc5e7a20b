"""The files of a picture that a job makes: which, when a page names them, and what a crash leaves."""

import io

import boto3
import pytest
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.template import Context, Template
from django.test import override_settings
from moto import mock_aws
from PIL import Image

from dealsite.data import table
from dealsite.data.catalogue import content
from dealsite.data.catalogue.cards import Picture
from dealsite.pictures import renditions, uploads
from shopping.templatetags.shopping import deal_card
from tests.builders import HOUR, NOW, make_content, make_id
from tests.jobs import run_next
from tests.pictures.test_store_picture import S3, make_file

WIDTHS = (96, 320, 480, 800, 1200)
MADE = sorted(
    [f"-{width}.avif" for width in WIDTHS]
    + ["-480.webp", "-1200.webp", "-original.webp", "-96-320-480-800-1200.made"]
)
LATER = NOW + HOUR


@pytest.fixture(autouse=True)
def media(tmp_path):
    with override_settings(MEDIA_ROOT=tmp_path / "media", MEDIA_URL="/media/"):
        yield tmp_path / "media"


@pytest.fixture
def picture():
    return uploads.store_picture(make_file(), "A red wall")


def files_of(picture, folder):
    return sorted(
        path.relative_to(folder).as_posix().removeprefix(picture.name)
        for path in folder.rglob("*")
        if path.is_file()
    )


def image_of(picture, width, kind):
    with default_storage.open(uploads.file_name(picture.name, width, kind)) as file:
        image = Image.open(io.BytesIO(file.read()))
        image.load()
        return image


def html_of(picture, arguments='"20rem"'):
    return Template(f"{{% load dealsite %}}{{% picture p {arguments} %}}").render(Context({"p": picture}))


def srcset_of(picture):
    return uploads.srcset(picture, WIDTHS, "avif")


def candidates(picture, widths, kind):
    return ", ".join(f"/media/{picture.name}-{width}.{kind} {width}w" for width in widths)


def test_a_job_makes_avif_at_every_width(picture, media):
    assert files_of(picture, media) == ["-1200.webp", "-480.webp", "-original.webp"]
    assert renditions.make(picture.name) is True
    assert files_of(picture, media) == MADE
    for width, kind in [*((width, "avif") for width in WIDTHS), (480, "webp"), (1200, "webp")]:
        image = image_of(picture, width, kind)
        assert (image.size, image.format) == ((width, width * 9 // 16), kind.upper())
        assert "exif" not in image.info


def test_making_them_again_changes_nothing(picture, media):
    renditions.make(picture.name)
    times = {path: path.stat().st_mtime_ns for path in media.rglob("*.*")}
    assert renditions.make(picture.name) is False
    assert {path: path.stat().st_mtime_ns for path in media.rglob("*.*")} == times


def test_a_small_picture_is_not_enlarged():
    small = uploads.store_picture(make_file(size=(300, 200)), "Small")
    renditions.make(small.name)
    assert image_of(small, 1200, "avif").size == (300, 200)
    assert srcset_of(small) == f"/media/{small.name}-96.avif 96w, /media/{small.name}-320.avif 300w"


def test_a_transparent_picture_stays_so():
    clear = uploads.store_picture(make_file(mode="RGBA", color=(10, 200, 10, 0)), "Clear")
    renditions.make(clear.name)
    assert image_of(clear, 320, "avif").getpixel((5, 5))[3] == 0


def test_the_further_files_are_made_from_what_was_uploaded_and_not_from_a_copy():
    picture = uploads.store_picture(make_file("JPEG", size=(3000, 2250)), "Large")
    with default_storage.open(uploads.original_name(picture.name)) as original:
        assert Image.open(original).size == (2400, 1800)


def test_a_picture_of_before_is_made_from_its_widest_file(picture, media):
    default_storage.delete(uploads.original_name(picture.name))
    assert renditions.make(picture.name) is True
    assert files_of(picture, media) == [file for file in MADE if file != "-original.webp"]


def test_a_picture_that_is_gone_is_no_error():
    assert renditions.make("pictures/ab/" + "ab" * 16) is False


@pytest.mark.parametrize("kept", range(6))
def test_killed_anywhere_it_goes_on_and_no_page_names_a_file_that_is_not_there(
    kept, picture, media, monkeypatch
):
    save = uploads.save_file
    written: list[str] = []

    def save_some(name, content, content_type):
        if len(written) == kept:
            (media / name).write_bytes(content[: len(content) // 2])  # cut short
            raise KeyboardInterrupt
        written.append(name)
        save(name, content, content_type)

    with monkeypatch.context() as patch:
        patch.setattr(uploads, "save_file", save_some)
        with pytest.raises(KeyboardInterrupt):
            renditions.make(picture.name)
    if kept < 5:
        assert "<picture>" not in html_of(picture)
    renditions.make(picture.name)
    assert files_of(picture, media) == MADE
    for width in renditions.WIDTHS:
        assert image_of(picture, width, "avif").size[0] == width


def test_a_page_names_the_further_files_once_all_are_there(picture):
    def image(srcset=""):
        return (
            f'<img src="/media/{picture.name}-480.webp"{srcset} '
            'alt="A red wall" width="1200" height="675" decoding="async">'
        )

    assert html_of(picture) == image(f' srcset="{candidates(picture, (480, 1200), "webp")}" sizes="20rem"')
    renditions.make(picture.name)
    wanted = candidates(picture, (96, 320, 480, 800), "avif")
    source = f'<source type="image/avif" srcset="{wanted}" sizes="20rem">'
    assert html_of(picture) == f"<picture>{source}{image()}</picture>"


@pytest.mark.parametrize(
    ("sizes", "widest"),
    [
        ("40px", 96),
        ("3rem", 96),
        ("56px", 320),
        ("(min-width: 640px) 5.5rem, 6rem", 320),
        ("15rem", 480),
        ("card", 800),
        ("deal", 1200),
        ("100vw", 1200),
        ("(min-width: 2000px) 2rem, 50rem", 1200),
    ],
)
def test_a_page_names_no_wider_file_than_a_screen_of_two_pixels_each_way_could_want(picture, sizes, widest):
    renditions.make(picture.name)
    widths = tuple(width for width in WIDTHS if width <= widest)
    assert f'srcset="{candidates(picture, widths, "avif")}"' in html_of(picture, f'"{sizes}"')


@pytest.mark.parametrize("made", [False, True])
def test_a_head_asks_for_the_files_that_the_element_will_choose_from(made, picture):
    if made:
        renditions.make(picture.name)
    link = Template('{% load dealsite %}{% picture_preload p "20rem" %}').render(Context({"p": picture}))
    kind, widths = ("avif", (96, 320, 480, 800)) if made else ("webp", (480, 1200))
    wanted = candidates(picture, widths, kind)
    assert link == (
        f'<link rel="preload" as="image" type="image/{kind}" imagesrcset="{wanted}" imagesizes="20rem" '
        'fetchpriority="high">'
    )
    assert f'srcset="{wanted}" sizes="20rem"' in html_of(picture)
    assert Template('{% load dealsite %}{% picture_preload missing "20rem" %}').render(Context()) == ""


@pytest.mark.parametrize(
    ("size", "wide"), [((1600, 900), "10rem"), ((900, 900), "8rem"), ((900, 1800), "4rem")]
)
def test_a_picture_is_asked_for_as_wide_as_it_is_drawn_in_its_box(size, wide):
    drawn = Picture("pictures/ab/" + "ab" * 16, size[0], size[1])
    sizes = f"(min-width: 640px) {wide}, 6rem"
    assert f'sizes="{sizes}"' in html_of(drawn, '"(min-width: 640px) 10x8rem, 6rem"')


def test_every_file_that_a_page_names_is_there(picture, media):
    renditions.make(picture.name)
    for source in srcset_of(picture).split(", "):
        assert (media / source.split()[0].removeprefix("/media/")).stat().st_size > 0


def test_a_card_that_was_rendered_before_shows_the_further_files_too(picture):
    card = make_content(picture=picture).card(make_id(NOW - HOUR), "Nordlicht")
    assert "<picture>" not in deal_card(card, NOW)
    renditions.make(picture.name)
    assert "image/avif" in deal_card(card, NOW)


def test_an_alt_text_cannot_break_out_of_its_attribute():
    hostile = Picture(name="pictures/ab/" + "ab" * 16, width=10, height=10, alt='"><script>')
    assert 'alt="&quot;&gt;&lt;script&gt;"' in html_of(hostile)


@pytest.mark.parametrize(
    ("x", "y", "classes"),
    [(50, 50, ""), (0, 100, "focal-x-0 focal-y-100"), (33, 68, "focal-x-35 focal-y-70")],
)
def test_the_focal_point_of_a_picture_is_kept_in_view(x, y, classes):
    picture = Picture(name="pictures/ab/" + "ab" * 16, width=10, height=10, focal_x=x, focal_y=y)
    html = html_of(picture)
    assert (f'<img class="{classes}" ' if classes else "<img src=") in html
    assert Picture.from_item(picture.as_item()) == picture


def test_a_picture_of_before_focal_points_is_centred():
    item = {"name": "pictures/ab/x", "width": 10, "height": 10, "alt": "x"}
    assert Picture.from_item(item).is_centred
    assert Picture.from_item(item).as_item() == item


# The job


def test_the_worker_makes_what_was_asked_for(fresh_table, picture, media):
    other = uploads.store_picture(make_file(color=(1, 2, 3)), "Dark")
    content.request_renditions([picture.name, other.name], now=NOW)
    assert run_next(now=LATER) is True
    assert renditions.are_made(picture.name)
    assert renditions.are_made(other.name)
    assert run_next(now=LATER) is False


def test_nothing_is_asked_for_no_pictures(fresh_table):
    with table.metered() as meter:
        content.request_renditions([], now=NOW)
    assert meter.log == []


def test_a_long_job_lets_others_have_their_turn(fresh_table, picture, monkeypatch):
    names = [picture.name] + [uploads.store_picture(make_file(color=(n, 9, 9)), "").name for n in (1, 2)]
    content.request_renditions(names, now=NOW)
    seconds = iter(range(0, 1000, 6))
    monkeypatch.setattr(renditions, "monotonic", lambda: next(seconds))
    assert run_next(now=LATER) is True
    assert [renditions.are_made(name) for name in names] == [True, False, False]
    assert run_next(now=LATER) is False  # what is put back is due a little later
    assert run_next(now=LATER + HOUR) is True
    assert run_next(now=LATER + 2 * HOUR) is True
    assert [renditions.are_made(name) for name in names] == [True, True, True]
    assert run_next(now=LATER + 3 * HOUR) is False


def test_a_picture_that_is_gone_does_not_hold_up_the_others(fresh_table, picture):
    content.request_renditions(["pictures/ab/" + "ab" * 16, picture.name], now=NOW)
    run_next(now=LATER)
    assert renditions.are_made(picture.name)


def test_the_command_makes_what_pictures_of_before_lack(picture, media, capsys):
    other = uploads.store_picture(make_file(color=(1, 2, 3)), "Dark")
    renditions.make(other.name)
    call_command("make_renditions")
    assert "Made the files of 1 pictures." in capsys.readouterr().out
    assert renditions.are_made(picture.name)
    call_command("make_renditions")
    assert "Made the files of 0 pictures." in capsys.readouterr().out


def test_what_a_release_of_other_widths_made_is_made_anew_and_its_mark_deleted(picture, media):
    old = media / f"{picture.name}.made"
    old.touch()
    assert "<picture>" not in html_of(picture)
    call_command("make_renditions")
    assert files_of(picture, media) == MADE
    assert "-96.avif" in html_of(picture)


def test_the_command_needs_no_pictures(capsys):
    call_command("make_renditions")
    assert "Made the files of 0 pictures." in capsys.readouterr().out


# A bucket


@pytest.fixture
def bucket(monkeypatch):
    """A private bucket of pictures; this process knows nothing of it yet."""
    monkeypatch.setattr(renditions, "_bucket", renditions.Bucket())
    with mock_aws(), override_settings(STORAGES=S3):
        s3 = boto3.client(
            "s3", region_name="eu-central-1", aws_access_key_id="test", aws_secret_access_key="test"
        )
        s3.create_bucket(
            Bucket="pictures-of-deals", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"}
        )
        yield s3


def test_in_a_bucket_the_files_have_their_types_and_may_be_kept_for_ever(bucket):
    picture = uploads.store_picture(make_file(), "Red")
    renditions.make(picture.name)
    kinds = {}
    for item in bucket.list_objects_v2(Bucket="pictures-of-deals")["Contents"]:
        head = bucket.head_object(Bucket="pictures-of-deals", Key=item["Key"])
        kinds[item["Key"].removeprefix(picture.name)] = head["ContentType"]
        assert head["CacheControl"] == "public, max-age=31536000, immutable"
        grants = bucket.get_object_acl(Bucket="pictures-of-deals", Key=item["Key"])["Grants"]
        assert [grant["Grantee"]["Type"] for grant in grants] == ["CanonicalUser"]  # nobody but the owner
    assert sorted(kinds) == MADE
    assert {kind for name, kind in kinds.items() if name.endswith(".avif")} == {"image/avif"}
    assert {kind for name, kind in kinds.items() if name.endswith(".webp")} == {"image/webp"}
    assert srcset_of(picture).startswith(
        f"https://media.example/{picture.name}-96.avif 96w, https://media.example/{picture.name}-320.avif 320w"
    )


def test_no_page_waits_for_a_bucket(bucket, monkeypatch):
    asked = []
    monkeypatch.setattr(renditions.Bucket, "_answer", lambda self: None)
    picture = uploads.store_picture(make_file(), "Red")
    renditions.make(picture.name)
    with monkeypatch.context() as patch:
        patch.setattr(default_storage.__class__, "exists", lambda *_: asked.append(1))
        assert "<picture>" not in html_of(picture)
        assert renditions.are_made(picture.name) is False
    assert asked == []
    renditions._bucket.ask(picture.name)
    assert "https://media.example/" in html_of(picture)
    assert "<picture>" in html_of(picture)


def test_a_bucket_is_asked_in_the_background_and_again_after_a_while(bucket, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(renditions, "monotonic", lambda: now[0])
    asked = []
    monkeypatch.setattr(renditions.Bucket, "_answer", lambda self: None)
    knows = renditions._bucket
    monkeypatch.setattr(
        knows, "_questions", type("Q", (), {"put_nowait": lambda _, name: asked.append(name)})()
    )
    assert renditions.are_made("pictures/ab/x") is False
    assert renditions.are_made("pictures/ab/x") is False
    assert asked == ["pictures/ab/x"]
    now[0] += 31
    renditions.are_made("pictures/ab/x")
    assert asked == ["pictures/ab/x"] * 2


def test_what_is_asked_in_the_background_comes_to_be_known(bucket, monkeypatch):
    picture = uploads.store_picture(make_file(), "Red")
    renditions.make(picture.name)
    knows = renditions.Bucket()
    knows._questions.put(picture.name)
    knows._questions.put("")

    class Ended(BaseException):
        pass

    ask = knows.ask

    def ask_or_end(name):
        if not name:
            raise Ended
        ask(name)

    monkeypatch.setattr(knows, "ask", ask_or_end)
    with pytest.raises(Ended):
        knows._answer()
    assert knows.says(picture.name) is True


def test_the_job_and_the_command_work_on_a_bucket_as_they_do_on_disk(bucket, capsys):
    picture = uploads.store_picture(make_file(), "Red")
    uploads.store_picture(make_file(color=(1, 2, 3)), "Dark")
    assert renditions.make(picture.name) is True
    assert renditions.make(picture.name) is False
    call_command("make_renditions")
    assert "Made the files of 1 pictures." in capsys.readouterr().out
