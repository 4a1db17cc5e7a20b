"""Uploading a picture while its form is being filled in, its focal point, and what becomes of both."""

import re
from html import unescape

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import UnreadablePostError
from django.http.multipartparser import MultiPartParser
from django.urls import reverse

from cms.shared.fields import keep, kept
from dealsite.data.catalogue import brands, content, deals, drafts
from dealsite.data.catalogue.cards import Picture
from dealsite.data.table import errors
from dealsite.middleware import IS_TOO_LARGE
from dealsite.pictures import renditions, uploads
from tests.builders import HOUR, NOW, PICTURE, make_deal, make_draft, make_id
from tests.cms.conftest import HTMX, inputs, picture_file
from tests.jobs import run_next

UPLOAD = "/cms/pictures/"
FOCUSED = Picture(PICTURE.name, PICTURE.width, PICTURE.height, PICTURE.alt, focal_x=20, focal_y=80)


def upload(browser, file=None, noun="picture"):
    return browser.post(f"{UPLOAD}?noun={noun}", {"picture_file": file or picture_file()}, headers=HTMX)


def token_of(response):
    found = re.search(r'name="picture_kept"\s+value="([^"]+)"', response.content.decode())
    return unescape(found[1])


def test_an_uploaded_picture_is_stored_and_its_form_keeps_it(editor):
    response = upload(editor)
    assert response.status_code == 200
    html = response.content.decode()
    assert 'hx-swap-oob="true"' in html
    assert 'name="picture_x"' in html
    draft_id = make_id(NOW)
    form = {"title": "Keyboard", "price": "x", "picture_kept": token_of(response), "picture_alt": "Keys"}
    again = editor.post(reverse("cms_draft", args=[draft_id]), form | {"action": "save"})
    assert again.status_code == 422  # for its price; the picture is not asked for again
    editor.post(reverse("cms_draft", args=[draft_id]), inputs(again) | {"price": "9.90", "action": "save"})
    picture = drafts.get(draft_id).content.picture
    assert (picture.width, picture.height, picture.alt) == (40, 30, "Keys")


def test_the_further_files_of_an_uploaded_picture_are_made_by_the_worker(editor):
    name = kept(token_of(upload(editor)), "").name
    assert renditions.are_made(name) is False
    while run_next(now=NOW + HOUR):
        pass
    assert renditions.are_made(name) is True


def test_the_form_without_script_asks_for_the_further_files_too(editor):
    draft_id = make_id(NOW)
    form = {"title": "Keyboard", "picture_file": picture_file(), "action": "save"}
    editor.post(reverse("cms_draft", args=[draft_id]), form)
    assert run_next(now=NOW + HOUR) is True
    assert renditions.are_made(drafts.get(draft_id).content.picture.name)


def test_a_picture_that_came_while_the_table_was_away_gets_its_files_at_the_next_try(editor, monkeypatch):
    def fail(*arguments, **options):
        raise errors.Unavailable()

    address = reverse("cms_draft", args=[make_id(NOW)])
    with monkeypatch.context() as patch:
        patch.setattr(content, "request_renditions", fail)
        response = editor.post(address, {"title": "x", "picture_file": picture_file(), "action": "save"})
        assert response.status_code == 503
    kept = inputs(response)
    assert kept["picture_kept"]
    assert editor.post(address, kept | {"action": "save"}).status_code == 302
    assert run_next(now=NOW + HOUR) is True
    name = drafts.get(address.split("/")[3]).content.picture.name
    assert renditions.are_made(name)


def test_saving_a_kept_picture_again_asks_for_nothing(editor, calls):
    token = token_of(upload(editor))
    run_next(now=NOW + HOUR)
    form = {"title": "Keyboard", "picture_kept": token, "action": "save"}
    operations = calls(lambda: editor.post(reverse("cms_draft", args=[make_id(NOW)]), form))
    assert "PutItem" not in operations


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"no picture", "This file is not a picture"),
        (b"", "The picture file is empty"),
        (b"x" * 10_000_001, "larger than 10 MB"),
    ],
    ids=["no picture", "empty", "large"],
)
def test_what_is_no_picture_is_refused_beside_its_field(editor, content, sentence):
    file = SimpleUploadedFile("x.png", content, content_type="image/png")
    response = upload(editor, file)
    assert response.status_code == 422
    assert sentence in response.content.decode()
    assert response["HX-Retarget"] == "#picture-error"


def test_a_storage_that_does_not_answer_is_said_beside_the_field_and_in_the_log(editor, monkeypatch, caplog):
    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(uploads, "store_picture", fail)
    response = upload(editor)
    assert response.status_code == 422
    assert "could not be stored just now" in response.content.decode()
    assert "picture_not_stored" in caplog.text
    assert "No space left on device" in caplog.text


def test_the_time_that_a_large_picture_takes_is_not_held_against_the_table(editor, monkeypatch):
    encode, now = uploads.encode, [1000.0]

    def encode_slowly(data):
        now[0] += 60
        return encode(data)

    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(uploads, "encode", encode_slowly)
    assert upload(editor).status_code == 200


def test_a_slow_line_is_not_held_against_the_table(editor, monkeypatch):
    parse, now = MultiPartParser.parse, [1000.0]

    def parse_slowly(parser):
        now[0] += 60
        return parse(parser)

    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(MultiPartParser, "parse", parse_slowly)
    assert upload(editor).status_code == 200


def test_what_breaks_off_is_refused_as_a_form_without_its_token(sign_in, monkeypatch):
    def break_off(parser):
        raise UnreadablePostError

    monkeypatch.setattr(MultiPartParser, "parse", break_off)
    assert upload(sign_in("editor", csrf=True)).status_code == 403


def test_what_the_web_process_left_unread_is_refused_and_not_taken_apart(client, monkeypatch):
    def read(parser):
        raise AssertionError

    monkeypatch.setattr(MultiPartParser, "parse", read)
    response = client.post(UPLOAD, {"picture_file": picture_file()}, **{IS_TOO_LARGE: True})
    assert response.status_code == 413


def test_without_a_file_it_says_so(editor):
    response = editor.post(UPLOAD, headers=HTMX)
    assert response.status_code == 422
    assert "Choose a picture." in response.content.decode()


def test_a_table_that_is_away_is_told(editor, monkeypatch):
    def fail(*arguments, **options):
        raise errors.Unavailable()

    monkeypatch.setattr(content, "request_renditions", fail)
    assert upload(editor).status_code == 503


@pytest.mark.parametrize("roles", [(), ("back office",)], ids=["shopper", "back office"])
def test_only_editors_may_upload(sign_in, roles, tmp_path):
    assert upload(sign_in(*roles)).status_code == 403
    assert not list(tmp_path.rglob("*.webp"))


def test_a_logo_is_called_one(editor):
    assert "Remove the logo" in upload(editor, noun="logo").content.decode()
    assert "Remove the picture" in upload(editor, noun="<script>").content.decode()


# The focal point


def test_the_focal_point_is_kept_with_the_deal(editor):
    deal = make_deal(picture=PICTURE)
    address = reverse("cms_deal", args=[deal.id])
    form = inputs(editor.get(address))
    assert (form["picture_x"], form["picture_y"]) == ("50", "50")
    assert editor.post(address, form | {"picture_x": "20", "picture_y": "80"}).status_code == 302
    assert deals.get(deal.id).content.picture == FOCUSED
    html = editor.get(address).content.decode()
    assert "focal-x-20 focal-y-80" in html
    form = inputs(editor.get(address))
    assert (form["picture_x"], form["picture_y"]) == ("20", "80")


def test_what_is_no_percentage_leaves_the_focal_point_where_it_is(editor):
    deal = make_deal(picture=FOCUSED)
    address = reverse("cms_deal", args=[deal.id])
    form = inputs(editor.get(address))
    editor.post(address, form | {"title": "Other", "picture_x": "x", "picture_y": ""})
    assert deals.get(deal.id).content.picture == FOCUSED
    form = inputs(editor.get(address))
    editor.post(address, form | {"picture_x": "900", "picture_y": "-4"})
    picture = deals.get(deal.id).content.picture
    assert (picture.focal_x, picture.focal_y) == (100, 80)


def test_another_picture_begins_in_the_middle(editor):
    draft = make_draft(title="Keyboard", picture=FOCUSED)
    address = reverse("cms_draft", args=[draft.id])
    editor.post(address, inputs(editor.get(address)) | {"picture_file": picture_file(), "action": "save"})
    assert drafts.get(draft.id).content.picture.is_centred


def test_a_focal_point_survives_an_error_elsewhere(editor):
    deal = make_deal(picture=PICTURE)
    address = reverse("cms_deal", args=[deal.id])
    form = inputs(editor.get(address)) | {"picture_x": "20", "picture_y": "80", "price": "x"}
    response = editor.post(address, form)
    assert response.status_code == 422
    again = inputs(response)
    assert (again["picture_x"], again["picture_y"]) == ("20", "80")
    editor.post(address, again | {"price": "79.90"})
    assert deals.get(deal.id).content.picture == FOCUSED


def test_two_focal_points_are_a_conflict_and_theirs_can_be_taken(editor, other_editor):
    deal = make_deal(picture=PICTURE)
    address = reverse("cms_deal", args=[deal.id])
    mine, theirs = inputs(editor.get(address)), inputs(other_editor.get(address))
    other_editor.post(address, theirs | {"picture_x": "20", "picture_y": "80"})
    response = editor.post(address, mine | {"picture_x": "90"})
    assert response.status_code == 409
    assert "Focal point 20% from the left, 80% from the top" in response.content.decode()
    editor.post(address, inputs(response) | {"choice_picture_kept": "theirs"})
    assert deals.get(deal.id).content.picture == FOCUSED


def test_a_focal_point_that_was_left_alone_is_no_conflict(editor, other_editor):
    deal = make_deal(picture=PICTURE)
    address = reverse("cms_deal", args=[deal.id])
    mine, theirs = inputs(editor.get(address)), inputs(other_editor.get(address))
    other_editor.post(address, theirs | {"picture_x": "20", "picture_y": "80"})
    assert editor.post(address, mine | {"title": "Other"}).status_code == 302
    content = deals.get(deal.id).content
    assert (content.title, content.picture) == ("Other", FOCUSED)


def test_my_alt_text_does_not_get_to_their_picture(editor, other_editor):
    address = reverse("cms_deal", args=[make_deal(picture=PICTURE).id])
    mine, theirs = inputs(editor.get(address)), inputs(other_editor.get(address))
    other_editor.post(address, theirs | {"picture_file": picture_file(), "picture_alt": PICTURE.alt})
    response = editor.post(address, mine | {"picture_alt": "Mine"})
    assert response.status_code == 409
    assert re.findall(r"<legend[^>]*>([^<]+)</legend>", response.content.decode()) == [
        "Picture",
        "Text for the picture",
    ]


def test_a_logo_has_a_focal_point_too(editor):
    address = reverse("cms_brand", args=["nordlicht"])
    form = inputs(editor.get(address)) | {"picture_kept": keep(PICTURE), "picture_alt": "A mark"}
    assert editor.post(address, form | {"picture_x": "20", "picture_y": "80"}).status_code == 302
    logo = brands.get("nordlicht").logo
    assert (logo.focal_x, logo.focal_y) == (20, 80)


# The text


def test_a_draft_with_a_picture_without_text_warns(editor):
    draft = make_draft(title="Keyboard", picture=Picture(PICTURE.name, 10, 10, ""))
    html = editor.get(reverse("cms_draft", args=[draft.id])).content.decode()
    assert "The picture has no text yet." in html
    draft = make_draft(title="Keyboard", picture=PICTURE)
    assert "has no text yet" not in editor.get(reverse("cms_draft", args=[draft.id])).content.decode()
