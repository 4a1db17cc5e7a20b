"""Confirming an e-mail address, changing it and taking it back; and that nobody learns whose an address is."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail, signing
from django.test import Client
from django.utils import timezone

from dealsite.accounts import email_links, limits, passwords
from dealsite.data import keys, table
from dealsite.data.people import email_addresses, my_data, profiles, sessions, throttles, two_factor, users
from dealsite.data.people.users import User
from dealsite.data.table.ids import epoch_seconds, new_ulid
from dealsite.data.table.writes import Update
from tests.accounts.conftest import PASSWORD, sign_in
from tests.accounts.test_account_pages import save
from tests.accounts.test_passwords import ask, link_in as reset_link_in, work
from tests.people import make_user, signed_in

NEW = "a much better password"


def sign_up(browser: Client, username: str, email: str = "ada@example.org", **more: Any) -> Any:
    given = {
        "username": username,
        "email": email,
        "password": PASSWORD,
        "registration": new_ulid(timezone.now()),
    }
    return browser.post("/account/sign-up/", given, **more)


def link_in(message: Any, part: str) -> str:
    found = re.search(rf"http://127\.0\.0\.1:8000(/account/email/{part}/\S+/)", message.body)
    assert found, message.body
    return found[1]


def confirm(message: Any) -> Any:
    """Follow a mail's link in a browser of its own and press the button."""
    browser = Client()
    browser.get(link_in(message, "confirm"))
    return browser.post("/account/email/confirm/")


# Signing up


def test_signing_up_says_the_same_whether_an_address_is_taken_or_not(browser: Client, ada: User):
    seen = []
    for username, email in (("zoe", "ada@example.org"), ("kim", "new@example.org")):
        visitor = Client()
        with table.metered() as meter:
            answer = sign_up(visitor, username, email)
        page = visitor.get("/account/").content.decode()
        page = re.sub(
            r'name="csrfmiddlewaretoken" value="\w+"|\d{2}:\d{2}(:\d{2})?|datetime="[^"]+"', "", page
        )
        said = page.replace(email, "EMAIL").replace(username.title(), "NAME").replace(username, "NAME")
        seen.append((answer.status_code, answer["Location"], [operation for operation, _ in meter.log], said))
    assert seen[0] == seen[1]
    assert "Confirm your e-mail address" in seen[0][3]
    to_owner, to_newcomer = work()
    assert (to_owner.to, to_owner.subject) == (["ada@example.org"], "Dealsite: You have an account already")
    assert "/account/email/" not in to_owner.body
    assert "It belongs to your account ada" in to_owner.body
    assert (to_newcomer.to, to_newcomer.subject) == (
        ["new@example.org"],
        "Dealsite: Confirm your e-mail address",
    )


def test_who_signs_up_uses_the_site_at_once_and_the_address_once_it_is_confirmed(browser: Client):
    sign_up(browser, "ada")
    assert browser.get("/account/").status_code == 200
    assert sign_in(Client(), "ada@example.org").status_code == 422
    assert sign_in(Client(), "ada").status_code == 302
    (link,) = work()
    answer = confirm(link)
    assert (answer.status_code, answer["Location"]) == (302, "/account/")
    page = browser.get("/account/").content.decode()
    assert "ada@example.org" in page
    assert "Confirm your e-mail address" not in page
    assert sign_in(Client(), "ada@example.org").status_code == 302
    ask(Client())
    assert [sent.subject for sent in work()] == ["Dealsite: A new password"]


def test_an_address_is_written_to_as_typed_and_signs_in_in_any_case(browser: Client):
    sign_up(browser, "anna", "Anna.Maria@Example.org")
    (link,) = work()
    assert link.to == ["Anna.Maria@example.org"]
    confirm(link)
    for typed in ("anna.maria@example.org", "ANNA.MARIA@EXAMPLE.ORG", "Anna.Maria@example.org"):
        assert sign_in(Client(), typed).status_code == 302
    sign_up(Client(), "zoe", "anna.maria@example.org")
    ask(Client(), "ANNA.maria@example.org")
    assert sorted((sent.to, sent.subject) for sent in work())[-2:] == [
        (["Anna.Maria@example.org"], "Dealsite: A new password"),
        (["Anna.Maria@example.org"], "Dealsite: You have an account already"),
    ]
    pages = [browser.get("/account/"), browser.get("/account/profile/")]
    assert ["Anna.Maria@example.org" in page.content.decode() for page in pages] == [True] * 2
    items = json.loads(my_data.as_json("anna", now=timezone.now())[0])["items"]
    assert {item["email"] for item in items if "email" in item} == {"Anna.Maria@example.org"}


def test_a_mailbox_is_one_in_whatever_case_it_is_asked_for(browser: Client, ada: User):
    asked = [
        ask(Client(), email).status_code
        for email in ("ada@example.org", "Ada@example.org", "ADA@example.org")
    ]
    assert [*asked, ask(Client(), "aDa@example.org").status_code] == [302, 302, 302, 429]


def test_an_address_that_is_not_confirmed_gets_nothing_but_its_link(browser: Client):
    sign_up(browser, "ada")
    work()
    browser.post("/account/password/", {"old_password": PASSWORD, "password": NEW})
    assert work() == []


def reset_links() -> list[Any]:
    return [sent for sent in work() if sent.subject == "Dealsite: A new password"]


@pytest.mark.parametrize("asked", ["ada", "ADA@example.org"])
def test_who_has_confirmed_no_address_gets_back_in_by_a_link_to_it_which_confirms_it(
    browser: Client, asked: str
):
    sign_up(thief := Client(), "ada", "Ada@example.org")
    (first,) = work()
    ask(browser, asked)
    (link,) = work()
    assert (link.to, link.subject) == (["Ada@example.org"], "Dealsite: A new password")
    assert "A new password also confirms this address." in link.body
    browser.get(reset_link_in(link))
    assert users.get("ada").email == ""
    assert browser.post("/account/password-reset/new/", {"password": NEW})["Location"] == "/account/"
    assert browser.get("/account/").status_code == 200
    assert thief.get("/account/").status_code == 302
    assert users.find("ada@example.org") == users.get("ada")
    assert (users.get("ada").email, users.get("ada").pending_email) == ("Ada@example.org", "")
    assert confirm(first).status_code == 410
    assert sign_in(Client(), "ada@example.org", NEW).status_code == 302


def test_each_account_that_waits_for_an_address_gets_a_link_and_none_once_somebody_has_it(browser: Client):
    for n in range(4):
        make_user(f"ada{n}", email="ada@example.org", confirmed=False)
    ask(browser)
    links = reset_links()
    assert len(links) == users.MOST_WAITING
    browser.get(reset_link_in(links[0]))
    late = Client()
    late.get(reset_link_in(links[1]))
    assert browser.post("/account/password-reset/new/", {"password": NEW}).status_code == 302
    assert late.post("/account/password-reset/new/", {"password": NEW}).status_code == 410
    work()
    owner = users.find("ada@example.org")
    for name in ("ada@example.org", "ada0", "ada1", "ada2", "ada3"):
        ask(Client(), name)
    assert {sent.body.count(f"account {owner.username} ") for sent in reset_links()} == {1}


def test_a_pending_address_gives_no_way_into_an_account_that_has_another(browser: Client, ada: User):
    sign_in(thief := Client())
    change(thief, "new@example.org")
    work()
    ask(browser, "new@example.org")
    assert work() == []


def test_a_link_to_an_address_that_was_corrected_leads_nowhere(browser: Client):
    sign_up(owner := Client(), "ada", "typo@example.org")
    work()
    ask(browser, "ada")
    (link,) = work()
    change(owner, "ada@example.org")
    assert users.get("ada").pending_email == "ada@example.org"
    browser.get(reset_link_in(link))
    assert browser.post("/account/password-reset/new/", {"password": NEW}).status_code == 410


def test_a_squatter_with_a_second_factor_gets_no_address_by_its_owners_new_password(browser: Client):
    eve = make_user("eve", email="ada@example.org", confirmed=False)
    two_factor.turn_on(eve, secret="sealed", recovery=["a hash"], step=1, key="", now=timezone.now())
    ask(browser)
    (link,) = reset_links()
    assert "also confirms" not in link.body
    browser.get(reset_link_in(link))
    answer = browser.post("/account/password-reset/new/", {"password": NEW})
    assert answer["Location"].startswith("/account/sign-in/code/")
    assert users.get("eve").email == ""


def test_a_squatter_keeps_nobody_from_their_address(browser: Client):
    sign_up(Client(), "eve")
    (squatters,) = work()
    sign_up(browser, "ada")
    (owners,) = work()
    assert "the account eve" in squatters.body
    assert "the account ada" in owners.body
    assert confirm(owners).status_code == 302
    refused = confirm(squatters)
    assert refused.status_code == 409
    assert "Another account has this e-mail address." in refused.content.decode()
    assert users.get("eve").email == ""
    found = users.find("ada@example.org")
    assert found is not None
    assert found.username == "ada"


def test_a_mailbox_gets_so_many_links_and_no_more_whoever_signs_up_with_it(browser: Client):
    statuses = [sign_up(Client(), f"eve{n}", REMOTE_ADDR=f"203.0.{n}.1").status_code for n in range(7)]
    sign_up(browser, "kim", "kim@example.org")
    assert statuses == [302] * 7
    got = [message.to[0] for message in work()]
    assert (got.count("ada@example.org"), got.count("kim@example.org")) == (limits.limit("mail").tries, 1)


def test_a_link_is_asked_for_so_often_and_no_more_whoever_asks(browser: Client):
    for name in ("eve", "mia"):
        sign_up(Client(), name)
    sign_up(browser, "kim", "kim@example.org")
    eve, mia = signed_in(users.get("eve")), signed_in(users.get("mia"))
    asked = [one.post("/account/email/send/").status_code for one in (eve, mia, eve, mia, eve, mia)]
    assert asked == [302] * limits.limit("confirmation").tries + [429]
    assert browser.post("/account/email/send/").status_code == 302


def test_a_user_without_a_pending_address_sends_themself_nothing(ada: User):
    assert signed_in(ada).post("/account/email/send/").status_code == 302
    assert work() == []


# The link


def test_a_link_does_nothing_until_its_button_is_pressed(browser: Client, settings: Any):
    sign_up(Client(), "ada")
    (message,) = work()
    address = link_in(message, "confirm")
    followed = browser.get(address)
    assert (followed.status_code, followed["Location"]) == (302, "/account/email/confirm/")
    assert followed["Referrer-Policy"] == "no-referrer"
    assert "no-store" in followed["Cache-Control"]
    cookie = followed.cookies[settings.SESSION_COOKIE_NAME.replace("session", "confirm")]
    assert (cookie["httponly"], cookie["path"]) == (True, "/")
    page = browser.get("/account/email/confirm/")
    assert "no-store" in page["Cache-Control"]
    assert address.split("/")[-2] not in page.content.decode()
    assert "ada@example.org" in page.content.decode()
    assert browser.head("/account/email/confirm/").status_code == 200
    assert users.get("ada").email == ""
    assert browser.post("/account/email/confirm/").status_code == 302
    assert users.get("ada").email == "ada@example.org"
    browser.get(address)
    assert browser.post("/account/email/confirm/").status_code == 410


def test_a_link_is_over_after_some_days_and_when_password_or_address_changed(whole_table: None):
    now = timezone.now()
    ada = make_user("ada", confirmed=False)
    token = email_links.confirmation_path(ada, now=now).split("/")[-2]
    assert email_links.confirming_user(token, now=now + email_links.CONFIRM_WITHIN) == ada
    late = now + email_links.CONFIRM_WITHIN + timedelta(seconds=1)
    assert email_links.confirming_user(token, now=late) is None
    for field in ("password", "pending_email"):
        changed = {name: getattr(ada, name) for name in users.User.__slots__} | {field: "x@example.org"}
        other = email_links.confirmation_path(users.User(**changed), now=now).split("/")[-2]
        assert email_links.confirming_user(other, now=now) is None


@pytest.mark.parametrize("token", ["x", "x:y", "é", ":", "WyJhZGEiXQ:AAAA", "W10:" + "0" * 43])
@pytest.mark.parametrize("part", ["confirm", "take-back"])
def test_a_made_up_link_is_over(browser: Client, ada: User, part: str, token: str):
    assert browser.get(f"/account/email/{part}/{token}/", follow=True).status_code == 410
    assert browser.post(f"/account/email/{part}/").status_code == 410


def test_a_link_of_one_kind_is_none_of_the_other(browser: Client, ada: User):
    now = timezone.now()
    kim = make_user("kim", confirmed=False)
    confirming = email_links.confirmation_path(kim, now=now).split("/")[-2]
    taking = email_links.take_back_path(ada, "old@example.org", new_ulid(now)).split("/")[-2]
    assert email_links.taking_back_user(confirming, now=now) is None
    assert email_links.confirming_user(taking, now=now) is None
    shared = signing.Signer(salt="cms.sharing").sign_object(["ada", "old@example.org", 4102444800])
    assert email_links.taking_back_user(shared, now=now) is None


# Another address


def change(browser: Client, email: str) -> Any:
    return save(browser, email=email, old_password=PASSWORD)


def test_another_address_is_used_once_it_is_confirmed_and_the_old_one_is_told_then(
    browser: Client, ada: User
):
    sign_in(browser)
    assert change(browser, "New@example.org").status_code == 302
    (link,) = work()
    assert link.to == ["New@example.org"]
    assert users.get("ada").email == "ada@example.org"
    page = browser.get("/account/").content.decode()
    assert "New@example.org" in page
    assert "stays in use" in page
    confirm(link)
    assert users.find("new@example.org") == users.get("ada")
    (notice,) = work()
    assert (notice.to, notice.subject) == (["ada@example.org"], "Dealsite: Your e-mail address was changed")
    assert browser.get("/account/").status_code == 200


def test_a_wish_for_another_address_does_not_outlive_the_password(browser: Client, ada: User):
    thief = Client()
    sign_in(thief)
    change(thief, "thief@example.org")
    (link,) = work()
    sign_in(browser)
    browser.post("/account/password/", {"old_password": PASSWORD, "password": NEW})
    assert confirm(link).status_code == 410
    assert users.get("ada").email == "ada@example.org"


def test_the_form_says_nothing_of_whose_an_address_is(browser: Client, ada: User):
    make_user("bob", email="bob@example.org")
    sign_in(browser)
    seen = []
    for email in ("bob@example.org", "nobody@example.org"):
        with table.metered() as meter:
            answer = change(browser, email)
        seen.append((answer.status_code, answer["Location"], [operation for operation, _ in meter.log]))
    assert seen[0] == seen[1]


def test_a_mailbox_is_asked_for_so_often_and_no_more(browser: Client, ada: User):
    sign_in(browser)
    statuses = []
    for _ in range(limits.limit("confirmation").tries + 1):
        statuses.append(change(browser, "victim@example.org").status_code)
        change(browser, "ada@example.org")  # which takes the wish back, and sends nothing
    assert statuses == [302] * limits.limit("confirmation").tries + [429]
    assert change(browser, "new@example.org").status_code == 302


def test_another_users_address_makes_a_mail_to_that_user_only(browser: Client, ada: User):
    make_user("bob", email="bob@example.org")
    sign_in(browser)
    change(browser, "bob@example.org")
    (told,) = work()
    assert (told.to, told.subject) == (["bob@example.org"], "Dealsite: You have an account already")
    assert "/account/email/" not in told.body


def test_a_mail_to_an_address_that_is_not_confirmed_holds_no_words_of_who_asked(browser: Client, ada: User):
    said = "Locked! Go to evil.example/login"
    sign_in(browser)
    save(browser, name=said, email="victim@example.org", old_password=PASSWORD)
    sign_up(eve := Client(), "eve", "victim@example.org")
    profile = profiles.get("eve")
    eve.post(
        "/account/profile/", {"name": said, "email": profile.pending_email, "version": str(profile.version)}
    )
    ask(browser, "victim@example.org")
    sent = work()
    assert {(message.to[0], message.body.partition(",")[0]) for message in sent} == {
        ("victim@example.org", "Hello ada"),
        ("victim@example.org", "Hello eve"),
    }
    assert sorted(message.subject for message in sent) == [
        "Dealsite: A new password",
        *["Dealsite: Confirm your e-mail address"] * 2,
    ]
    assert not any("evil.example" in message.body for message in sent)


def test_who_has_confirmed_an_address_is_called_by_their_name_in_mails_to_it(browser: Client, ada: User):
    sign_in(browser)
    save(browser, name="Ada Lovelace")
    ask(Client(), "ada")
    assert [message.body.partition(",")[0] for message in work()] == ["Hello Ada Lovelace"]


def test_an_address_asked_for_is_withdrawn_by_asking_for_the_old_one(browser: Client, ada: User):
    sign_in(browser)
    change(browser, "typo@example.org")
    (link,) = work()
    assert b'value="typo@example.org"' in browser.get("/account/profile/").content
    assert (
        save(browser, name="Ada L.", email="typo@example.org").status_code == 302
    )  # a name needs no password
    assert change(browser, "ada@example.org").status_code == 302
    assert work() == []
    assert users.get("ada").pending_email == ""
    assert confirm(link).status_code == 410


# Taking it back


def moved(browser: Client, email: str) -> Any:
    """Move Ada's account to an address, by who is signed in and knows the password; return the mail to the last one."""
    change(browser, email)
    confirm(work()[0])
    return work()[0]


def stolen(browser: Client) -> Any:
    """Let a thief who knows the password move Ada's account to their own address; return the mail to her."""
    sign_in(browser)
    return moved(browser, "thief@example.org")


def take_back(notice: Any) -> tuple[int, str]:
    """Follow a mail's link and press the button; return the answer's status, and Ada's address then."""
    browser = Client()
    browser.get(link_in(notice, "take-back"))
    return browser.post("/account/email/take-back/").status_code, users.get("ada").email


def test_an_owner_takes_the_account_back_from_who_changed_its_address(browser: Client, ada: User):
    thief = Client()
    notice = stolen(thief)
    thief.post("/account/password/", {"old_password": PASSWORD, "password": "the thief's new password"})
    work()
    address = link_in(notice, "take-back")
    assert browser.get(address)["Location"] == "/account/email/take-back/"
    page = browser.get("/account/email/take-back/").content.decode()
    assert "ada@example.org" in page
    assert "thief@example.org" not in page
    assert users.get("ada").email == "thief@example.org"
    answer = browser.post("/account/email/take-back/")
    assert answer["Location"] == "/account/password-reset/new/"
    assert users.get("ada").email == "ada@example.org"
    assert thief.get("/account/").status_code == 302
    assert sessions.of_user("ada", now=timezone.now()) == []
    for password in (PASSWORD, "the thief's new password", ""):
        assert sign_in(Client(), password=password).status_code == 422
    assert [message.to for message in work()] == [["thief@example.org"]]
    assert browser.post("/account/password-reset/new/", {"password": NEW})["Location"] == "/account/"
    assert browser.get("/account/").status_code == 200
    assert sign_in(Client(), "ada@example.org", NEW).status_code == 302
    browser.get(address)
    assert browser.post("/account/email/take-back/").status_code == 410


def test_an_owner_who_does_not_choose_a_password_at_once_is_sent_a_link(browser: Client, ada: User):
    browser.get(link_in(stolen(Client()), "take-back"))
    browser.post("/account/email/take-back/")
    work()
    ask(Client())
    assert [(message.to, message.subject) for message in work()] == [
        (["ada@example.org"], "Dealsite: A new password")
    ]


def test_who_lost_the_account_gets_no_link_to_take_it_back(browser: Client, ada: User):
    browser.get(link_in(stolen(Client()), "take-back"))
    browser.post("/account/email/take-back/")
    (told,) = work()
    assert told.to == ["thief@example.org"]
    assert "/account/" not in told.body


def test_an_account_is_taken_back_within_a_week_however_often_the_address_changed(ada: User):
    now = timezone.now()
    links = []
    for name in ("second", "third", "fourth"):
        table.write(Update(key=keys.user("ada"), set={"pending_email": f"{name}@example.org"}))
        email_addresses.confirm(users.get("ada"), now=now)
        links.append(users.get("ada").take_backs[-1])
    stolen = users.get("ada")
    assert stolen.take_backs == tuple(links)
    token = email_links.take_back_path(stolen, "ada@example.org", links[0]).split("/")[-2]
    week = timedelta(days=7)
    assert email_links.taking_back_user(token, now=now + week) == (stolen, "ada@example.org", links[0])
    assert email_links.taking_back_user(token, now=now + week + timedelta(seconds=1)) is None
    email_addresses.take_back(stolen, "third@example.org", links[2], password="a hash", now=now)
    assert email_links.taking_back_user(token, now=now) is not None
    email_addresses.take_back(users.get("ada"), "ada@example.org", links[0], password="a hash", now=now)
    assert email_links.taking_back_user(token, now=now) is None


def test_a_thief_who_moves_on_gets_no_account_back_that_its_owner_took_back(browser: Client, ada: User):
    first = stolen(thief := Client())
    second = moved(thief, "thief2@example.org")
    third = moved(thief, "thief3@example.org")
    assert [message.to for message in (first, second, third)] == [
        ["ada@example.org"],
        ["thief@example.org"],
        ["thief2@example.org"],
    ]
    assert take_back(second) == (302, "thief@example.org")
    assert take_back(third) == (410, "thief@example.org")
    assert take_back(first) == (302, "ada@example.org")
    for message in (second, third, first):
        assert take_back(message) == (410, "ada@example.org")


def test_who_moved_to_another_address_themself_takes_it_back_all_the_same(browser: Client, ada: User):
    sign_in(browser)
    to_old = moved(browser, "new@example.org")
    notice = moved(thief := browser, "thief@example.org")
    thiefs = moved(thief, "thief2@example.org")
    assert take_back(notice) == (302, "new@example.org")
    assert take_back(thiefs) == (410, "new@example.org")
    assert take_back(to_old) == (302, "ada@example.org")


def test_a_link_stays_void_when_the_address_changes_again(browser: Client, ada: User):
    first = stolen(thief := Client())
    second = moved(thief, "thief2@example.org")
    browser.get(link_in(first, "take-back"))
    browser.post("/account/email/take-back/")
    browser.post("/account/password-reset/new/", {"password": NEW})
    work()
    save(browser, email="new@example.org", old_password=NEW)
    confirm(work()[0])
    (notice,) = work()
    assert take_back(second) == (410, "new@example.org")
    assert take_back(notice) == (302, "ada@example.org")


def test_a_mail_that_comes_too_late_holds_no_link(browser: Client, ada: User):
    first = stolen(thief := Client())
    change(thief, "thief2@example.org")
    confirm(work()[0])
    take_back(first)
    told = [message for message in work() if message.subject == "Dealsite: Your e-mail address was changed"]
    assert sorted(message.to[0] for message in told) == ["thief2@example.org", "thief@example.org"]
    assert not any("/account/" in message.body for message in told)


def test_a_link_of_an_earlier_release_takes_the_account_back_and_voids_all_others(browser: Client, ada: User):
    until = epoch_seconds(timezone.now() + timedelta(days=1))
    said = ["ada", "ada@example.org", until]
    token = signing.Signer(salt="dealsite.accounts.take_back_email").sign_object(said)
    sign_in(browser)
    thiefs = moved(browser, "thief@example.org")
    others = moved(browser, "thief2@example.org")
    owner = Client()
    owner.get(f"/account/email/take-back/{token}/")
    assert owner.post("/account/email/take-back/").status_code == 302
    assert users.get("ada").email == "ada@example.org"
    for message in (thiefs, others):
        assert take_back(message) == (410, "ada@example.org")


def test_a_second_factor_is_asked_for_after_taking_back(browser: Client, ada: User):
    browser.get(link_in(stolen(Client()), "take-back"))
    two_factor.turn_on(
        users.get("ada"), secret="sealed", recovery=["a hash"], step=1, key="", now=timezone.now()
    )
    browser.post("/account/email/take-back/")
    answer = browser.post("/account/password-reset/new/", {"password": NEW})
    assert answer["Location"].startswith("/account/sign-in/code/")


def test_a_user_without_a_confirmed_address_gets_no_mail_and_uses_up_nobodys(browser: Client):
    home = Client()
    sign_up(browser, "zoe")
    work()
    mail.outbox.clear()
    assert sign_in(home, "zoe").status_code == 302
    before = throttles.uses([limits.limit("mail-total")], limits.EVERYBODY, now=timezone.now())
    assert work() == []
    assert throttles.uses([limits.limit("mail-total")], limits.EVERYBODY, now=timezone.now()) == before


def test_a_deleted_user_gets_no_mail(browser: Client, ada: User):
    sign_in(browser)
    change(browser, "new@example.org")
    users.delete(users.get("ada"), job_id=new_ulid(timezone.now()), now=timezone.now())
    assert work() == []


# No mail server


def test_a_public_site_without_mail_server_says_so_and_prints_no_link(
    browser: Client,
    ada: User,
    settings: Any,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
):
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"  # what it would do with them
    ask(browser)
    sign_up(browser, "kim", "kim@example.org")
    settings.DEALSITE_SENDS_MAIL = False
    assert work() == []
    printed = "".join(capsys.readouterr()) + caplog.text
    assert caplog.text.count("mail_not_sent") == 2
    assert "kind='password_reset'" in caplog.text
    assert "http://" not in printed
    for answer in (browser.get("/account/password-reset/"), ask(browser)):
        assert "This site cannot send mail" in answer.content.decode()
        assert b"<form" not in answer.content.split(b"<main")[1].split(b"</main")[0]
    page = browser.get("/account/").content.decode()
    assert "This site cannot send mail" in page
    assert "/account/email/send/" not in page
    assert browser.post("/account/email/send/").status_code == 302
    assert work() == []
    assert mail.outbox == []


def test_what_happens_to_addresses_and_passwords_is_noted_without_secrets(
    browser: Client, caplog: pytest.LogCaptureFixture
):
    sign_up(browser, "ada")
    (message,) = work()
    confirm(message)
    ask(browser)
    (reset,) = work()
    browser.post("/account/password/", {"old_password": PASSWORD, "password": NEW})
    noted = [record.getMessage() for record in caplog.records if record.name.endswith("security_log")]
    for event in ("signed_up", "email_changed", "password_reset_asked", "password_changed"):
        assert sum(f"event='{event}'" in line for line in noted) == 1
    tokens = (link_in(message, "confirm").split("/")[-2], reset_link_in(reset).split("/")[-2])
    assert not any(secret in line for line in noted for secret in (PASSWORD, NEW, *tokens))


def test_the_password_rules_know_a_pending_address(whole_table: None):
    user = make_user("ada", email="countess@analytical.org", confirmed=False)
    assert passwords.Owner.of(user).email == "countess@analytical.org"
