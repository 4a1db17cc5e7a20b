"""Every form that changes something, filled in well: who sends it, to which address, and what it holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyotp
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client

from dealsite.accounts import email_links, passwords, requests, second_factor
from dealsite.accounts.sign_in import half_of
from dealsite.data import keys, table
from dealsite.data.catalogue import deal_changes, relations
from dealsite.data.commerce import cart_changes, carts, order_changes, order_notes, order_returns, orders
from dealsite.data.commerce.cart_changes import CartAddition
from dealsite.data.editing import pending_edits, saved_views
from dealsite.data.jobs import jobs, queue
from dealsite.data.people import sessions, two_factor, users
from dealsite.data.table.ids import iso, new_ulid
from dealsite.data.table.writes import Update
from tests.browser.conftest import PASSWORD, make_user
from tests.browser.deal_form import picture_bytes
from tests.builders import DAY, EDITOR, NOW, WORKER, make_announcement, make_deal, make_draft
from tests.cms.conftest import inputs
from tests.import_files import content as file_of_deals
from tests.orders import make_order
from tests.pages import ROUTES
from tests.seeded import ADMIN, SHOPPER, VISITOR, Content, lacks_nothing
from tests.shopping.shoppers import checkout_form

TOKEN = new_ulid(NOW, 4711)
NEW = "a whole new password"
CAREFUL, NEWCOMER, SECRET = "uma", "una", "JBSWY3DPEHPK3PXP" * 2
CODE = pyotp.TOTP(SECRET).at(NOW)
OWN = {"Sec-Fetch-Site": "same-origin"}
ADDRESS = {
    "name": "Grace",
    "street": "3 Harbour Road",
    "postcode": "20095",
    "city": "Hamburg",
    "country": "Germany",
}

Data = dict[str, Any]
More = dict[str, Any]
Sent = Callable[[Client, "Prepared"], Data]


@dataclass
class Prepared:
    """The seeded site's content, and what `prepare` added to it."""

    content: Content
    more: More

    def id(self, state: str) -> str:
        return self.content.id(state)


@dataclass(frozen=True)
class Form:
    """A form: what is sent, by whom, and where if not at the first address of its route."""

    data: Sent
    who: str | None = None
    at: str = ""

    def visitor(self, name: str) -> str:
        """Return who sends it."""
        return self.who if self.who is not None else ROUTES[route_of(name)].seen_by or SHOPPER

    def address(self, name: str, prepared: Prepared) -> str:
        """Return where it is sent to."""
        if self.at:
            return self.at.format(**prepared.more)
        return ROUTES[route_of(name)].addresses(prepared.content)[0]


def route_of(name: str) -> str:
    """Return the name of the address that takes a form: of several that it takes, each says more after a space."""
    return name.split()[0]


def of(**data: Any) -> Sent:
    """Return what is the same on every site; `{...}` in a text stands for what `prepare` made."""

    def sent(browser: Client, prepared: Prepared) -> Data:
        return {name: _with(value, prepared.more) for name, value in data.items()}

    return sent


def _with(value: Any, more: More) -> Any:
    if isinstance(value, list):
        return [_with(one, more) for one in value]
    return value.format(**more) if isinstance(value, str) else value


def filled_in(address: str, **changes: Any) -> Sent:
    """Return what the form of a page holds, changed."""

    def sent(browser: Client, prepared: Prepared) -> Data:
        page = browser.get(address.format(**prepared.more))
        assert page.status_code == 200, (address, page.status_code)
        return inputs(page) | of(**changes)(browser, prepared)

    return sent


def parts(address: str, **changes: Any) -> Sent:
    """Return what the form of a part of an order holds, with a piece and a cent of each line."""

    def sent(browser: Client, prepared: Prepared) -> Data:
        found = filled_in(address, reason="Broken", **changes)(browser, prepared)
        some = {"pieces": "1", "amount": "0.01"}
        return {name: some.get(name.partition("-")[0], value) for name, value in found.items()}

    return sent


def of_part(address: str, **changes: Any) -> Form:
    """Return the form of a part of an order, which is sent to its own address."""
    return Form(parts(address, **changes), at=address)


def after(*addresses: str, **data: Any) -> Sent:
    """Return data that are sent once other addresses were opened, as links in mails are."""

    def sent(browser: Client, prepared: Prepared) -> Data:
        for address in addresses:
            browser.get(address.format(**prepared.more), follow=True)
        return of(**data)(browser, prepared)

    return sent


def half_way(browser: Client, prepared: Prepared) -> Data:
    browser.cookies[requests.HALF.name] = requests.HALF.sign(half_of(users.get(CAREFUL)))
    return {"code": CODE}


def with_a_cart(browser: Client, prepared: Prepared) -> Data:
    answer = HttpResponse()
    requests.set_cart(answer, prepared.more["cart_key"])
    browser.cookies.update(answer.cookies)
    return {}


def picture(browser: Client, prepared: Prepared) -> Data:
    return {"picture_file": SimpleUploadedFile("a.png", picture_bytes(), content_type="image/png")}


def a_file(browser: Client, prepared: Prepared) -> Data:
    name, text = "deals.csv", file_of_deals().encode()
    return {"file": SimpleUploadedFile(name, text, content_type="text/csv"), "token": TOKEN}


def ordering(browser: Client, prepared: Prepared) -> Data:
    return checkout_form(browser)


def done(verb: str, **data: Any) -> Form:
    """Return the form of a button that does a verb to a live deal, or to another; to several: tests/data/editing."""
    return Form(
        of(**{"deal": "{live}", "asked_at": iso(NOW), "next": "/cms/deals/"} | data),
        at=f"/cms/deals/do/{verb}/",
    )


DEAL, DRAFT = "/cms/deals/{live}/", "/cms/drafts/{draft}/"
PAYMENT = {"account": SHOPPER, "due": "{due}"}
ORDER = f"/cms/orders/{SHOPPER}/{{{{{{}}}}}}/{{}}/"
JOB = "/cms/jobs/{}/{}/"
FORMS: dict[str, Form] = {
    # The account
    "sign_up": Form(
        filled_in("/account/sign-up/", username="newton", email="newton@example.org", password=NEW), VISITOR
    ),
    "sign_in": Form(of(name=SHOPPER, password=PASSWORD), VISITOR),
    "sign_in_code": Form(half_way, VISITOR),
    "sign_out": Form(of(), SHOPPER),
    "edit_profile": Form(filled_in("/account/profile/", name="Ada Ash")),
    "change_password": Form(of(old_password=PASSWORD, password=NEW)),
    "reset_password": Form(of(email=f"{SHOPPER}@example.org"), VISITOR),
    "new_password": Form(after("{reset_link}", password=NEW), VISITOR),
    "send_confirmation": Form(of(), NEWCOMER),
    "confirm_email": Form(after("{confirmation_link}"), NEWCOMER),
    "take_back_email": Form(after("{take_back_link}"), VISITOR),
    "end_session": Form(of(session="{other_session}")),
    "end_other_sessions": Form(of()),
    "renew_recovery_codes": Form(of(code=CODE, old_password=PASSWORD), CAREFUL),
    "turn_off_two_factor": Form(of(code=CODE, old_password=PASSWORD), CAREFUL),
    "delete_account": Form(of(old_password=PASSWORD), who=EDITOR),
    # What a shopper has
    "mark_all_read": Form(of(until="{message}")),
    "mute_hot_deals": Form(of(muted="yes")),
    "mute_all": Form(of(muted="yes")),
    "mark_read": Form(of(), at="/account/messages/{unread}/read/"),
    "delete_message": Form(of()),
    "cancel_order": Form(of(), at="/account/orders/{order}/cancel/"),
    "cancel_part": of_part("/account/orders/{order}/cancel/part/"),
    "return_part": of_part("/account/orders/{shipped}/return/"),
    "order_again": Form(of(token=TOKEN)),
    "order_address": Form(of(**ADDRESS), at="/account/orders/{order}/address/"),
    "pay": Form(of(due_at="{due}")),
    "finish_card": Form(of(number="4242 4242 4242 4242")),
    "forget_card": Form(of()),
    "add_address": Form(of(**ADDRESS)),
    "edit_address": Form(of(**ADDRESS)),
    "remove_address": Form(of()),
    "mute_watch": Form(of(target="brand", slug="nordlicht", muted="yes")),
    "like_brand": Form(of(), at="/brands/others/like/"),
    "unlike_brand": Form(of(), SHOPPER),
    "watch_brand": Form(of(), at="/brands/others/watch/"),
    "unwatch_brand": Form(of(), SHOPPER),
    "like_category": Form(of(), SHOPPER),
    "unlike_category": Form(of(), SHOPPER, "/categories/toys-hobbies/unlike/"),
    "like_deal": Form(of(), at="/like/{live}/"),
    "unlike_deal": Form(of(), SHOPPER, "/unlike/{ending}/"),
    "watch_category": Form(of(), SHOPPER),
    "unwatch_category": Form(of(), SHOPPER, "/categories/toys-hobbies/unwatch/"),
    "add_to_cart": Form(of(offer="{ending}:79.90", token=TOKEN)),
    "change_quantity": Form(of(deal="{in_cart}", quantity="2")),
    "remove_from_cart": Form(of(line="{line}")),
    "undo_removal": Form(of(offer="{removed}:79.90", quantity="2", token=TOKEN)),
    "save_for_later": Form(of(line="{line}")),
    "move_to_cart": Form(of(line="{saved_line}")),
    "merge_cart": Form(with_a_cart),
    "checkout": Form(ordering),
    # The CMS
    "cms_settings": Form(of(shortcuts="on")),
    "cms_choose": Form(of(small_menu="yes")),
    "cms_save_view": Form(of(name="New", list="/cms/deals/?state=live")),
    "cms_delete_view": Form(of(name="Mine")),
    "cms_autosave_setting": Form(of()),
    "cms_do": done("expire"),
    "cms_do expiry": done("expiry", to_expiry="2026-12-24T18:00"),
    "cms_do category": done("category", deal="{edited}", to_category="toys-hobbies"),
    "cms_do price": done("price", to_price="-%", amount="10", given="1"),
    "cms_do feature": done("feature", deal="{edited}", to_page="front"),
    "cms_do unfeature": done("unfeature", to_page="front"),
    "cms_do reschedule": done("reschedule", deal="{scheduled}", to_time="2026-11-25T08:30"),
    "cms_do duplicate": done("duplicate"),
    "cms_do delete": done("delete"),
    "cms_do publish": done("publish", deal="{ready}", state="draft"),
    "cms_do delete drafts": done("delete", deal="{draft}", state="draft"),
    "cms_do alt text": done("alt-text", to_alt="A better text"),
    "cms_do alt text of a draft": done("alt-text", deal="{undescribed}", state="draft", to_alt="A text"),
    "cms_do link": done("accept-link", to_link="https://shop.example/keyboard"),
    "cms_do changes": done("discard-changes", deal="{edited}", to_changes="1"),
    "cms_do version": done("restore-version", to_version="1"),
    "cms_do all": done("category", deal=[], to_category="toys-hobbies", all="1", previewed="1"),
    "cms_deal": Form(filled_in(DEAL, title="Changed")),
    "cms_price_and_expiry": Form(filled_in(DEAL + "price-and-expiry/", price="9.00")),
    "cms_price_and_expiry draft": Form(
        filled_in(DRAFT + "price-and-expiry/", price="9.00"), at=DRAFT + "price-and-expiry/"
    ),
    "cms_autosave": Form(filled_in(DEAL, title="Changed")),
    "cms_draft": Form(filled_in(DRAFT, title="Changed")),
    "cms_autosave draft": Form(filled_in(DRAFT, title="Changed"), at=DRAFT + "autosave/"),
    "cms_presence": Form(of()),
    "cms_upload_picture": Form(picture),
    "cms_restore": Form(of(), at="/cms/deals/{gone}/restore/"),
    "cms_purge": Form(of(), at="/cms/deals/{gone}/purge/"),
    "cms_new_brand": Form(filled_in("/cms/brands/new/", name="Vela")),
    "cms_brand": Form(filled_in("/cms/brands/nordlicht/", name="Vela")),
    "cms_start_merge": Form(of(into="others")),
    "cms_category": Form(filled_in("/cms/categories/peripherals-networking/", name="Vela")),
    "cms_cancel_plan": Form(of()),
    "cms_featured": Form(
        filled_in("/cms/featured/", deal=["{live}"], title=["x"], position=["1"], do="save")
    ),
    "cms_featured_page": Form(
        filled_in("/cms/featured/front/", deal=["{live}"], title=["x"], position=["1"], do="save")
    ),
    "cms_new_message": Form(
        of(deal="{live}", audience="all", headline="x", token=TOKEN, sure="yes", action="send")
    ),
    "cms_imports file": Form(a_file),
    "cms_imports rows": Form(filled_in("/cms/imports/", rows="Title\tPrice\nA lamp\t9.00")),
    "cms_pause_job": Form(of(), at=JOB.format("{job}", "pause")),
    "cms_resume_job": Form(of(), at=JOB.format("{paused}", "resume")),
    "cms_cancel_job": Form(of(), at=JOB.format("{job}", "cancel")),
    "cms_retry_job": Form(of(), at=JOB.format("{failed}", "retry")),
    "cms_save_question": Form(of(title="All", sql="SELECT 1", question_id=TOKEN)),
    "cms_saved_question": Form(of(title="All", sql="SELECT 1", version="1")),
    "cms_delete_question": Form(of(version="1")),
    "cms_new_order": Form(filled_in(f"/cms/customers/{SHOPPER}/order/", do="place")),
    "cms_order_address": Form(of(**ADDRESS), at=f"/cms/orders/{SHOPPER}/{{order}}/address/"),
    "cms_ship_orders": Form(
        lambda _browser, prepared: {
            "order": f"{SHOPPER}/{prepared.more['order']}",
            f"unpaid-{prepared.more['order']}": "yes",
        }
    ),
    "cms_deliver_orders": Form(of(order=[f"{SHOPPER}/{{shipped}}"])),
    "cms_cancel_orders": Form(of(order=[f"{SHOPPER}/{{order}}"], reason="Broken")),
    "cms_ship_part": of_part(ORDER.format("order", "ship"), unpaid="yes"),
    "cms_cancel_part": of_part(ORDER.format("order", "cancel")),
    "cms_take_back": of_part(ORDER.format("shipped", "return")),
    "cms_decline_return": of_part(ORDER.format("asked", "decline")),
    "cms_reduce_order": of_part(ORDER.format("order", "reduce")),
    "cms_deliver_parcel": Form(of(at=iso(NOW)), at=ORDER.format("shipped", "delivered")),
    "cms_note_order": Form(of(note="A word", token=TOKEN), at=ORDER.format("order", "note")),
    "cms_tag_order": Form(of(tag="Odd"), at=ORDER.format("order", "tag")),
    "cms_untag_order": Form(of(tag="VIP"), at=ORDER.format("tagged", "untag")),
    "cms_note_customer": Form(of(note="A word", before=""), at=f"/cms/customers/{SHOPPER}/note/"),
    "cms_send_order_mail": Form(of(status="PLACED", at=iso(NOW), time="2"), at=ORDER.format("order", "mail")),
    "cms_cancel_payment": Form(of(**PAYMENT, reason="Gone")),
    "cms_export_list": Form(of(address="/cms/deals/", token=TOKEN)),
    "cms_give_role": Form(of(role="editor")),
    "cms_take_role": Form(of(role="editor"), at=f"/cms/users/{EDITOR}/take-role/"),
    "cms_reset_two_factor": Form(of(), at=f"/cms/users/{CAREFUL}/reset-two-factor/"),
    "cms_end_sessions": Form(of()),
    "cms_suspend_user": Form(of(reason="spam")),
    "cms_lift_suspension": Form(of(), at="/cms/users/banned/lift-suspension/"),
    "cms_switch_site": Form(of(state="open", message="As always")),
    "cms_site_page": Form(of(en="Ours.", de="Unsere.", version="0"), at="/cms/pages/terms/"),
}
LEFT_OUT = {
    "cms_choose_columns": "it leads to the list with these columns in its address",
    "my_data": "answers with a file, and notes it in the security log: tests/accounts/test_my_data.py",
    "cms_retry_payment": "needs a payment that failed; one update, as cms_cancel_payment",
    "cms_import": "one job for one version of a file: tests/imports",
    "set_up_two_factor": "makes other codes each time; renews them as renew_recovery_codes does",
    "cms_undo_bulk": "a change of many deals that was carried out: tests/cms/bulk",
    "cms_undo_merge": "needs a merge that was carried out: tests/cms/taxonomy",
    "cms_check_link": "needs a link that is checked: tests/cms/lists",
    "cms_new_snapshot": "one put of a job that is the same for a second, as a night's command: tests/cms/ask",
    "cms_ask": "asks a snapshot; what it notes is noted for any question",
    "cms_refund_payment": "needs money that was moved; as cms_cancel_payment in all else",
    "begin_card": "leads to the gateway",
    "add_passkey": "needs an authenticator: tests/accounts/test_passkeys.py",
    "remove_passkey": "needs an authenticator: tests/accounts/test_passkeys.py",
    "accept_changes": "changes what is seen alone",
    "cms_preview_deal": "shows, and stores nothing",
    "cms_preview_featured": "shows, and stores nothing",
    "address_fields": "shows, and stores nothing",
    "cms_markdown": "turns what was pasted, and stores nothing",
    "cms_leave": "the end of cms_presence",
    "cms_cancel_answer": "stops a thread of this process",
}


def prepare(content: Content) -> More:
    """Add to the site what some forms change; return what they name."""
    more: More = {state.replace(" ", "_"): deal.id for state, deal in content.deals.items()}
    more |= {"draft": content.draft.id, "message": content.message}
    payment = orders.get(SHOPPER, content.order).payments[-1]
    more["due"] = payment["due_at"] if isinstance(payment["due_at"], str) else iso(payment["due_at"])
    _people(content, more)
    _deals(content, more)
    _cart_and_orders(content, more)
    _jobs(more)
    more["unread"] = new_ulid(NOW - DAY, 0)
    return more


def _people(content: Content, more: More) -> None:
    careful = make_user(CAREFUL)
    sealed = second_factor.seal(CAREFUL, SECRET)
    two_factor.turn_on(careful, secret=sealed, recovery=["one"], step=1, key="", now=NOW)
    content.users[CAREFUL] = users.get(CAREFUL)
    content.users[NEWCOMER] = newcomer = make_user(NEWCOMER, confirmed=False)
    banned = make_user("banned")
    ada = content.users[SHOPPER]
    sessions.start(ada, key=requests.new_key(), user_agent="", address="127.0.0.1", now=NOW)
    more["other_session"] = sessions.of_user(SHOPPER, now=NOW)[0].key_hash
    more["reset_link"] = f"/account/password-reset/{SHOPPER}/{passwords.make_reset_token(ada, now=NOW)}/"
    more["confirmation_link"] = email_links.confirmation_path(newcomer, now=NOW)
    link = new_ulid(NOW, 4712)
    table.write(Update(key=keys.user(ada.username), set={"take_backs": [link]}))
    more["take_back_link"] = email_links.take_back_path(ada, "old@example.org", link)
    sessions.suspend(banned, reason="spam", by=ADMIN, now=NOW)


def _deals(content: Content, more: More) -> None:
    gone = make_deal(title="Gone")
    deal_changes.delete(gone, by=EDITOR, now=NOW)
    more["gone"] = gone.id
    drawn = content.deals["live"].content.picture
    assert drawn
    more["ready"] = make_draft(**lacks_nothing(drawn)).id
    more["undescribed"] = make_draft(title="No words", picture=replace(drawn, alt="")).id
    edited = make_deal(title="Edited")
    more["edited"] = edited.id
    changed = replace(edited.content, title="To be changed")
    pending_edits.keep(
        edited, changed, brand_name="Nordlicht", base=1, seen="", before=None, by=EDITOR, now=NOW
    )
    for name in ("Mine", "Another"):
        saved_views.save(EDITOR, saved_views.SavedView(name, "/cms/deals/"), now=NOW)


def _cart_and_orders(content: Content, more: More) -> None:
    relations.add(relations.CATEGORY_LIKE, "toys-hobbies", username=SHOPPER, now=NOW)
    relations.add(relations.DEAL_LIKE, content.id("ending"), username=SHOPPER, now=NOW)
    more["order"], more["shipped"] = (make_order(SHOPPER).id for _ in range(2))
    asked = make_order(SHOPPER)
    more["asked"] = more["tagged"] = asked.id
    order_notes.tag_order(SHOPPER, asked.id, "VIP", by=ADMIN, now=NOW)
    for order_id in (more["shipped"], more["asked"]):
        order_changes.ship(SHOPPER, order_id, tracking="", unpaid=True, by=ADMIN, now=NOW)
    pieces = {line.id: 1 for line in orders.lines_of(asked)}
    order_returns.ask_return(SHOPPER, asked.id, pieces=pieces, by=SHOPPER, reason="Too loud", now=NOW)
    more["removed"] = make_deal(title="Removed").id
    owner = carts.user_cart(SHOPPER)
    for deal in (more["edited"], content.id("ending")):
        cart_changes.add(owner, CartAddition(deal, 1, new_ulid(NOW)), now=NOW)
    cart = carts.read(owner, now=NOW)
    more["line"], more["in_cart"] = cart.active[0].ref, cart.active[0].deal
    more["saved_line"] = cart.saved[0].ref
    more["cart_key"] = key = requests.new_key()
    cart_changes.add(carts.visitor_cart(key), CartAddition(content.id("ending"), 1, new_ulid(NOW)), now=NOW)


def _jobs(more: More) -> None:
    for number, name in enumerate(("job", "paused", "failed")):
        more[name] = make_announcement(more["live"], new_ulid(NOW, 4720 + number))
    queue.pause(more["paused"], by=EDITOR, now=NOW)
    table.write(Update(key=keys.job(more["failed"]), set={"taken_by": WORKER, "tries": jobs.MAX_TRIES}))
    jobs.fail(jobs.get(more["failed"]), "Broken", now=NOW)
