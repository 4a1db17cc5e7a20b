import re

import pytest
from django.urls import reverse

from dealsite.data.catalogue import deal_changes, deals, featured, relations
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


def tabs(browser):
    """Return what the tab of each page says, by its address."""
    html = browser.get(reverse("cms_featured")).content.decode()
    nav = html[html.index('aria-label="Pages with featured deals"') :].partition("</nav>")[0]
    found = re.findall(r'<a href="([^"]+)"[^>]*>(.*?)</a>', nav, re.DOTALL)
    return {address: " ".join(re.sub("<[^>]+>", " ", text).split()) for address, text in found}


def test_each_page_is_a_tab_that_counts_its_deals_and_those_that_are_over(editor, three):
    feature(*three)
    feature(make_deal(stock=0), make_deal(expires_at=NOW - HOUR / 2), three[0], page_id="editors-choice")
    found = tabs(editor)
    assert list(found) == [reverse("cms_featured_page", args=[page_id]) for page_id in featured.PAGES]
    assert found[FRONT] == "Front page 3"
    assert (
        found[reverse("cms_featured_page", args=["editors-choice"])]
        == "Editors&#x27; Choice 3 2 of them are over"
    )
    assert order(editor.get(reverse("cms_featured"))) == ["A", "B", "C"]


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
    assert stored() == ["A", "B", "C"]


def test_what_is_not_saved_is_counted_and_marked(editor, three):
    more = [make_deal(title=title) for title in "DEF"]
    feature(*three, *more[:2])
    form = inputs(editor.get(FRONT))
    html = editor.post(
        FRONT, form | {"position": ["1", "2", "3", "1", "5"], "do": f"add:{more[2].id}"}
    ).content.decode()
    assert re.findall(r"was at \d", html) == ["was at 4"]
    assert "2 changes not saved" in html


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


def offered(browser, **asked):
    """Return the titles that the picker shows for what is typed and chosen in it."""
    html = browser.post(FRONT, inputs(browser.get(FRONT)) | {"do": "pick"} | asked).content.decode()
    return re.findall(r'<span\s+class="line-clamp-2[^"]*"\s+dir="auto">([^<]+)</span>', html)


@pytest.mark.parametrize("form", ["{id}", "https://deals.example/deals/{id}/a/", "see {id}!"])
def test_a_deal_is_found_by_its_id_or_link(editor, three, form):
    assert offered(editor, words=form.format(id=three[0].id)) == ["A"]


@pytest.mark.parametrize("words", ["nothing", "x" * 9000, "\x00", make_id()])
def test_what_is_no_deal_is_not_found(editor, three, search_index, words):
    search_index()
    html = editor.post(FRONT, inputs(editor.get(FRONT)) | {"words": words, "do": "pick"}).content.decode()
    assert re.search('hold these words|This deal does not exist|class="choice-row"', html)
    assert ('class="choice-row"' in html) == (words == "\x00")


@pytest.mark.parametrize("deal_id", ["nothing", "", make_id(), "\x00"])
def test_what_is_no_deal_is_not_added(editor, three, deal_id):
    feature(three[0])
    assert order(editor.post(FRONT, inputs(editor.get(FRONT)) | {"do": f"add:{deal_id}"})) == ["A"]


def test_a_deal_is_added_at_a_place(editor, three):
    feature(*three[:2])
    for place, titles in (
        ("1", ["C", "A", "B"]),
        ("2", ["A", "C", "B"]),
        ("99", ["A", "B", "C"]),
        ("x", ["A", "B", "C"]),
    ):
        form = inputs(editor.get(FRONT)) | {"do": f"add:{three[2].id}:{place}"}
        assert order(editor.post(FRONT, form)) == list(titles)


def test_a_deal_takes_the_place_of_one_that_is_over(editor, three):
    over = make_deal(title="Over", stock=0)
    feature(three[0], over, three[1])
    response = editor.post(FRONT, inputs(editor.get(FRONT)) | {"do": f"replace:{over.id}"})
    assert "In place of 2, Over" in response.content.decode()
    assert order(editor.post(FRONT, inputs(response) | {"do": f"add:{three[2].id}"})) == ["A", "C", "B"]
    damaged = inputs(response) | {"replaced": make_id(), "do": f"add:{three[2].id}"}
    assert order(editor.post(FRONT, damaged)) == ["A", "Over", "B", "C"]


def test_a_deals_own_page_leads_here_with_it_added(editor, three, calls):
    assert order(editor.get(FRONT, {"add": three[1].id})) == ["B"]
    assert order(editor.get(FRONT, {"add": "\x00"})) == []


def test_deals_are_picked_by_state_brand_category_and_words_in_an_order(editor, search_index):
    make_deal(title="Of Vela", brand="Vela", live_at=NOW - 2 * HOUR)
    toy = make_deal(title="A toy", category="toys-hobbies", live_at=NOW - HOUR)
    make_deal(title="To come", live_at=NOW + DAY)
    make_deal(title="Over", expires_at=NOW - HOUR / 2)
    relations.add(relations.DEAL_LIKE, toy.id, username="sam", now=NOW)
    search_index()
    assert offered(editor, sort="newest") == ["A toy", "Of Vela"]
    assert offered(editor, sort="likes") == ["A toy", "Of Vela"]
    assert offered(editor, state="scheduled") == ["To come"]
    assert offered(editor, brand="vela") == ["Of Vela"]
    assert offered(editor, brand="nobody") == []
    assert offered(editor, category="toys-hobbies") == ["A toy"]
    assert offered(editor, words="vela") == ["Of Vela"]
    assert offered(editor, state="nonsense", sort="\x00", category="x", page="-1") == ["A toy", "Of Vela"]


def test_without_an_index_the_picker_says_so(editor, three):
    assert "Search is being set up" in editor.get(FRONT).content.decode()


def test_the_picker_has_pages_and_keeps_its_place_and_the_list(editor, three, search_index):
    for number in range(30):
        make_deal(title=f"Older {number:02}", live_at=NOW - DAY - number * HOUR)
    feature(*three)
    search_index()
    page = editor.post(FRONT, inputs(editor.get(FRONT)) | {"sort": "newest", "do": "pick"})
    assert 'value="page:2"' in page.content.decode()
    second = editor.post(FRONT, inputs(page) | {"sort": "newest", "do": "page:2"})
    assert 'value="page:1"' in second.content.decode()
    assert "Older 29" in second.content.decode()
    assert order(second) == ["A", "B", "C"]
    added = re.search(r'value="(add:[0-9A-Z]{26})"', second.content.decode())[1]
    third = editor.post(FRONT, inputs(second) | {"sort": "newest", "do": added})
    assert "Older 29" in third.content.decode()
    assert len(order(third)) == 4


@pytest.mark.parametrize("page", ["x", "\x00", "", "0", "9" * 4000])
def test_a_damaged_place_in_the_picker_does_no_harm(editor, three, page):
    feature(*three)
    response = editor.post(FRONT, inputs(editor.get(FRONT)) | {"page": page, "do": "order"})
    assert response.status_code == 200
    assert order(response) == ["A", "B", "C"]


def test_what_shoppers_would_not_buy_is_warned_of(editor):
    over = make_deal(title="Over", expires_at=NOW - HOUR / 2)
    sold = make_deal(title="Sold", stock=0)
    later = make_deal(title="Later", live_at=NOW + DAY)
    soon = make_deal(title="Soon", expires_at=NOW + HOUR)
    feature(over, sold, later, soon)
    html = editor.get(FRONT).content.decode()
    faults = "Shoppers see 2 of these 4 deals. 1 has expired. 1 is sold out. 1 is not live yet. 1 ends within 48 hours."
    assert faults in html
    assert re.findall(r'aria-label="Replace (\w+)"', html) == ["Over", "Sold"]


PREVIEW = reverse("cms_preview_featured", args=["front"])


def previewed(browser, form, address=PREVIEW):
    """Return the titles that the preview shows of these deals, in order: featured ones, and those below."""
    html = browser.post(address, form, headers=HTMX).content.decode()
    above, _, below = html.partition("</section>")
    return tuple("".join(re.findall(r">\s*(A|B|Over|C)\s*</a>", part)) for part in (above, below))


def test_the_preview_is_the_page_with_the_list_of_the_form(editor, three):
    over = make_deal(title="Over", expires_at=NOW - HOUR / 2)
    form = inputs(editor.get(FRONT)) | {
        "deal": [three[1].id, over.id, three[0].id],
        "title": ["", "", ""],
        "position": ["1", "2", "3"],
    }
    assert previewed(editor, form) == ("BA", "ABC")
    assert stored() == []
    whole = editor.post(PREVIEW, form).content.decode()
    assert "Nothing was saved" in whole
    choice = reverse("cms_preview_featured", args=["editors-choice"])
    assert previewed(editor, form, choice)[0] == "BA"
    toys = reverse("cms_preview_featured", args=["toys-hobbies"])
    assert previewed(editor, form, toys) == ("BA", "")
    assert editor.post(reverse("cms_preview_featured", args=["nothing"]), form).status_code == 404


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
    deal_changes.delete(deals.get(three[1].id), by="oscar", now=NOW)
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
