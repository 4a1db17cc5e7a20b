import re

import pytest
from django.urls import reverse

from dealsite.data.catalogue import deals, featured
from dealsite.data.catalogue.deal import deleting
from dealsite.data.catalogue.featured import MAX_CARDS
from dealsite.data.table import errors
from tests.builders import DAY, HOUR, NOW, make_deal, make_id
from tests.cms.conftest import HTMX, inputs

FRONT = reverse("cms_featured_page", args=["front"])


def feature(*shown, page_id="front", by="oscar"):
    """Set a page's list, as another editor would."""
    page, found = featured.load(page_id, [deal.id for deal in shown])
    in_order = [found[deal.id] for deal in shown]
    return featured.set_featured(page, in_order, version=page.version, by=by, now=NOW)


def order(response):
    return inputs(response).get("title", [])


def stored():
    return [card.title for card in featured.get("front").cards]


@pytest.fixture
def three():
    return [
        make_deal(title=title, live_at=NOW - number * HOUR) for number, title in enumerate("ABC", start=1)
    ]


def test_there_is_a_page_for_each_featured_list(editor, calls):
    html = editor.get(reverse("cms_featured")).content.decode()
    assert all(f"/cms/featured/{page_id}/" in html for page_id in featured.PAGES)
    assert calls(lambda: editor.get(reverse("cms_featured"))) == ["Query"]


def test_deals_are_added_and_saved(editor, calls, three):
    form = inputs(editor.get(FRONT))
    for deal in three:
        response = editor.post(FRONT, form | {"do": f"add:{deal.id}"})
        form = inputs(response)
    assert order(response) == ["A", "B", "C"]
    assert stored() == []
    assert calls(lambda: editor.post(FRONT, form | {"do": "save"})) == ["BatchGetItem", "TransactWriteItems"]
    assert stored() == ["A", "B", "C"]
    assert deals.get(three[0].id).featured_on == {"front"}


def test_saving_leads_back_with_a_message(editor, three):
    form = inputs(editor.get(FRONT)) | {"deal": [three[0].id], "title": ["A"], "position": ["1"]}
    response = editor.post(FRONT, form | {"do": "save"})
    assert response.headers["Location"] == FRONT
    assert "Front page: the featured deals are saved." in editor.get(FRONT).content.decode()


@pytest.mark.parametrize(
    ("action", "titles", "said"),
    [
        ("up:2", ["A", "C", "B"], "“C” is now at position 2 of 3."),
        ("down:0", ["B", "A", "C"], "“A” is now at position 2 of 3."),
        ("remove:1", ["A", "C"], "“B” is taken out."),
    ],
)
def test_buttons_move_deals_without_saving(editor, three, action, titles, said):
    feature(*three)
    name, number = action.split(":")
    do = f"{name}:{three[int(number)].id}"
    form = inputs(editor.get(FRONT)) | {"do": do}
    for headers in ({}, HTMX):
        response = editor.post(FRONT, form, headers=headers)
        assert order(response) == titles
        assert said in response.content.decode()
        assert "Not saved yet." in response.content.decode()
    assert stored() == ["A", "B", "C"]


def test_the_button_that_moved_a_deal_keeps_the_focus(editor, three):
    feature(*three)
    response = editor.post(FRONT, inputs(editor.get(FRONT)) | {"do": f"up:{three[2].id}"})
    button = re.search(rf'<button[^>]*id="up-{three[2].id}"[^>]*>', response.content.decode())[0]
    assert "autofocus" in button


def test_position_numbers_count_when_saving(editor, three):
    feature(*three)
    form = inputs(editor.get(FRONT)) | {"position": ["1", "2", "1"], "do": "save"}
    editor.post(FRONT, form)
    assert stored() == ["C", "A", "B"]


@pytest.mark.parametrize("form", ["{id}", "https://deals.example/deals/{id}/a/", "see {id}!"])
def test_a_deal_is_added_by_its_id_or_link(editor, three, form):
    pasted = form.format(id=three[0].id)
    response = editor.post(FRONT, inputs(editor.get(FRONT)) | {"pasted": pasted, "do": "find"})
    assert order(response) == ["A"]
    assert "“A” is added at position 1." in response.content.decode()


@pytest.mark.parametrize("pasted", ["", "nothing", "x" * 9000, "\x00", make_id()])
def test_what_is_no_deal_is_not_added(editor, three, pasted):
    feature(three[0])
    response = editor.post(FRONT, inputs(editor.get(FRONT)) | {"pasted": pasted, "do": "find"})
    assert order(response) == ["A"]
    assert re.search("This is no id or link of a deal|This deal does not exist", response.content.decode())


def test_a_deals_own_page_leads_here_with_it_added(editor, three, calls):
    assert order(editor.get(FRONT, {"add": three[1].id})) == ["B"]
    assert order(editor.get(FRONT, {"add": "\x00"})) == []


def test_deals_are_picked_from_the_latest_a_brand_a_category_or_those_to_come(editor):
    make_deal(title="Of Vela", brand="Vela")
    make_deal(title="A toy", category="toys-hobbies")
    make_deal(title="To come", live_at=NOW + DAY)
    make_deal(title="Over", expires_at=NOW - HOUR / 2)

    def offered(**source):
        html = editor.post(FRONT, inputs(editor.get(FRONT)) | source | {"do": "pick"}).content.decode()
        return re.findall(r'<p class="font-semibold wrap-anywhere" dir="auto">([^<]+)</p>', html)

    assert offered(source="latest") == ["A toy", "Of Vela"]
    assert offered(source="scheduled") == ["To come"]
    assert offered(source="brand", brand="vela") == ["Of Vela"]
    assert offered(source="brand", brand="") == []
    assert offered(source="brand", brand="nobody") == []
    assert offered(source="toys-hobbies") == ["A toy"]
    assert offered(source="nonsense") == ["A toy", "Of Vela"]


def test_the_picker_has_pages_and_keeps_its_place_and_the_list(editor, three):
    for number in range(30):
        make_deal(title=f"Older {number:02}", live_at=NOW - DAY - number * HOUR)
    feature(*three)
    page = editor.get(FRONT)
    onward = re.search(r'value="(after:[0-9A-Z]{26})"', page.content.decode())[1]
    second = editor.post(FRONT, inputs(page) | {"do": onward})
    assert "Older 29" in second.content.decode()
    assert order(second) == ["A", "B", "C"]
    added = re.search(r'value="(add:[0-9A-Z]{26})"', second.content.decode())[1]
    third = editor.post(FRONT, inputs(second) | {"do": added})
    assert "Older 29" in third.content.decode()
    assert len(order(third)) == 4


@pytest.mark.parametrize("place", ["after:x", "before:\x00", "after:", "x", "after:" + "0" * 26])
def test_a_damaged_place_in_the_picker_does_no_harm(editor, three, place):
    feature(*three)
    response = editor.post(FRONT, inputs(editor.get(FRONT)) | {"place": place, "do": "order"})
    assert response.status_code == 200
    assert order(response) == ["A", "B", "C"]


def test_what_shoppers_would_not_buy_is_warned_of(editor):
    over = make_deal(title="Over", expires_at=NOW - HOUR / 2)
    sold = make_deal(title="Sold", stock=0)
    later = make_deal(title="Later", live_at=NOW + DAY)
    feature(over, sold, later)
    html = editor.get(FRONT).content.decode()
    for warning in ("It has expired", "It is sold out", "It is not live yet"):
        assert html.count(warning) == 1


def test_of_two_editors_the_second_sees_both_lists_and_loses_nothing(editor, three):
    a, b, c = three
    feature(a)
    form = inputs(editor.get(FRONT))
    mine = inputs(editor.post(FRONT, form | {"do": f"add:{b.id}"}))
    feature(a, c)
    conflict = editor.post(FRONT, mine | {"do": "save"})
    assert conflict.status_code == 409
    html = conflict.content.decode()
    assert "oscar saved this list while you worked on it" in html
    assert order(conflict) == ["A", "B"]
    assert "Only in yours" in html
    assert stored() == ["A", "C"]
    # What theirs has more is taken over, and theirs stays in view until the save.
    merged = editor.post(FRONT, inputs(conflict) | {"do": f"add:{c.id}"})
    assert "Theirs, as shoppers see it now" in merged.content.decode()
    assert editor.post(FRONT, inputs(merged) | {"do": "save"}).status_code == 302
    assert stored() == ["A", "B", "C"]


def test_a_second_click_is_no_conflict(editor, three):
    form = inputs(editor.get(FRONT)) | {
        "deal": [three[0].id],
        "title": ["A"],
        "position": ["1"],
        "do": "save",
    }
    assert [editor.post(FRONT, form).status_code for _ in range(2)] == [302, 302]
    assert featured.get("front").version == 1


def test_a_deal_deleted_meanwhile_is_named_and_left_out(editor, three):
    feature(*three)
    form = inputs(editor.get(FRONT))
    deleting.delete(deals.get(three[1].id), by="oscar", now=NOW)
    response = editor.post(FRONT, form | {"do": "save"})
    assert response.status_code == 409
    assert "left out: B." in response.content.decode()
    assert order(response) == ["A", "C"]
    assert editor.post(FRONT, inputs(response) | {"do": "save"}).status_code == 302


def test_more_than_a_page_may_feature_is_refused(editor):
    many = [make_deal(title=f"Deal {number}") for number in range(MAX_CARDS + 1)]
    form = inputs(editor.get(FRONT))
    post = form | {
        "deal": [deal.id for deal in many],
        "title": [""] * 25,
        "position": [str(n) for n in range(1, 26)],
    }
    response = editor.post(FRONT, post | {"do": "save"})
    assert response.status_code == 422
    assert len(order(response)) == MAX_CARDS + 1
    assert "That is 1 too many." in response.content.decode()
    assert stored() == []


def test_when_the_table_is_away_the_list_comes_back_by_its_titles(editor, three, monkeypatch):
    feature(*three)
    form = inputs(editor.get(FRONT)) | {"position": ["3", "2", "1"]}

    def fail(*arguments, **options):
        raise errors.Unavailable()

    monkeypatch.setattr(featured, "load", fail)
    response = editor.post(FRONT, form | {"do": "save"})
    assert response.status_code == 503
    assert order(response) == ["C", "B", "A"]
    assert inputs(response)["version"] == "1"


@pytest.mark.parametrize("version", ["", "x", "-1", "9" * 5000, "²"])
def test_a_damaged_version_is_a_conflict(editor, three, version):
    feature(*three)
    form = inputs(editor.get(FRONT)) | {"position": ["3", "2", "1"], "version": version, "do": "save"}
    assert editor.post(FRONT, form).status_code == 409
    assert stored() == ["A", "B", "C"]


@pytest.mark.parametrize("page_id", ["nothing", "%00", "Front"])
def test_a_page_that_does_not_exist_is_404(editor, page_id):
    assert editor.get(f"/cms/featured/{page_id}/").status_code == 404
    assert editor.post(f"/cms/featured/{page_id}/", {"do": "save"}).status_code == 404
