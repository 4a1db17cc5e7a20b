"""What a stranger, or somebody who knows the password, gets out of trying often; and that others go on meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pyotp
import pytest
from django.test import Client, RequestFactory
from django.utils import timezone

from dealsite.accounts import limit_table, limits, passwords, requests, second_factor
from dealsite.accounts.requests import Anonymous, Visit, is_behind_unknown_proxy, wide_network_of
from dealsite.data import table
from dealsite.data.catalogue import categories
from dealsite.data.names import normalise_sign_in_name
from dealsite.data.people import security_events, sessions, throttles, two_factor, users
from dealsite.data.people.throttles import window
from dealsite.data.people.users import User
from dealsite.data.table.errors import TooManyRequests
from tests.accounts.conftest import PASSWORD, sign_in
from tests.measuring import measured
from tests.people import NOW
from tests.races import at_once
from tests.slow_table import SlowTable

STRANGER = {"REMOTE_ADDR": "203.0.113.66"}
HOME = {"REMOTE_ADDR": "198.51.100.7"}
CODE = "/account/sign-in/code/"


WAIT = "Too many tries. Please wait 15 minutes."


def errors_of(answer: Any) -> list[str]:
    return list(answer.context["form"].non_field_errors())


def wide(text: str) -> str:
    """Return a text in full-width letters, which the look-up takes for plain ones."""
    return "".join(chr(ord(c) + 0xFEE0) if "a" <= c <= "z" else c for c in text)


def statuses(tries: int, *, name: str = "ada", **more: Any) -> list[int]:
    return [sign_in(Client(), name, "wrong", **more).status_code for _ in range(tries)]


# The identity that is looked up


@pytest.mark.parametrize(
    "names",
    [
        ["ada", wide("ada"), "Ada", wide("a") + "da", "a" + wide("da"), "ADA"],
        ["ada", "ada@example.org", wide("ada") + "@example.org", "ADA@example.org", "ada", "ada@EXAMPLE.org"],
        ["nobody", wide("nobody"), "NOBODY", wide("no") + "body", "nobody", "nobodY"],
        ["no@example.org", wide("no") + "@example.org", "NO@example.org", "no@Example.org", "no@example.org"]
        * 2,
        ["no body", wide("no") + " body", "NO BODY", "no  body", "no body", "no\u00a0body"],
    ],
    ids=["name", "name and e-mail", "unknown name", "unknown e-mail", "no name at all"],
)
def test_however_a_name_is_written_it_has_one_budget(browser: Client, ada: User, names: list[str]):
    found = [sign_in(browser, name, "wrong", **STRANGER).status_code for name in names]
    assert found == [422] * 5 + [429] * (len(names) - 5)


def test_a_name_that_nobody_can_have_is_looked_up_in_one_form():
    assert normalise_sign_in_name(" Ａda ") == "ada"
    assert normalise_sign_in_name("Ａda@Example.org") == "ada@example.org"
    assert normalise_sign_in_name("Ａ #") == "a #"


def test_name_and_address_are_refused_in_the_same_words(browser: Client, ada: User):
    statuses(5, **STRANGER)
    answers = [sign_in(Client(), name, **STRANGER) for name in ("ada", "ada@example.org", wide("ada"))]
    assert {(answer.status_code, *errors_of(answer)) for answer in answers} == {(429, WAIT)}


# Devices


def hoard(number: int) -> list[Client]:
    """Sign in on new devices, as somebody does who knows the password."""
    made = [Client() for _ in range(number)]
    for browser in made:
        assert sign_in(browser, **STRANGER).status_code == 302
        browser.post("/account/sign-out/")
    return made


def is_known(browser: Client) -> bool:
    request = RequestFactory().get("/")
    request.COOKIES.update({name: morsel.value for name, morsel in browser.cookies.items()})
    return bool(requests.device_of(request, users.get("ada")))


def test_of_hoarded_devices_the_newest_five_are_known(ada: User):
    assert [is_known(browser) for browser in hoard(12)] == [False] * 7 + [True] * 5


def test_sixty_wrong_passwords_on_hoarded_devices_are_stopped_at_twenty(ada: User, hashes: Callable[[], int]):
    hoarded = hoard(12)
    hashes()
    found = [
        sign_in(browser, password="wrong", REMOTE_ADDR=f"192.0.2.{number}").status_code
        for number, browser in enumerate(hoarded[-5:])
        for _ in range(12)
    ]
    assert found.count(422) == limits.limit("sign-in-devices").tries == 20
    assert found.count(429) == 40
    assert hashes() == 20


def test_tries_on_all_devices_at_once_get_no_more_than_the_limit_through(ada: User):
    hoarded = hoard(5)
    wrong = [
        lambda browser=browser: sign_in(browser, password="wrong").status_code for browser in hoarded
    ] * 6
    assert at_once(*wrong).count(422) == 20


def test_strangers_do_not_use_up_what_the_owners_devices_may(browser: Client, ada: User):
    sign_in(browser, **HOME)
    for number in range(45):
        sign_in(Client(), password="wrong", REMOTE_ADDR=f"203.0.113.{number}")
    assert sign_in(Client(), **HOME).status_code == 429
    assert sign_in(browser, **HOME).status_code == 302


def test_a_device_stays_the_same_when_one_signs_in_on_it_again(browser: Client, ada: User):
    sign_in(browser)
    first = users.get("ada").devices
    with table.metered() as meter:
        sign_in(browser)
    assert users.get("ada").devices == first
    assert [operation for operation, _ in meter.log].count("UpdateItem") == 4  # two tries, taken back
    assert is_known(browser)


def test_another_password_ends_what_is_known_of_devices(browser: Client, ada: User):
    sign_in(browser)
    other = hoard(1)[0]
    assert is_known(other)
    browser.post("/account/password/", {"old_password": PASSWORD, "password": "a much better one"})
    assert not is_known(other)
    assert [sign_in(other, password="wrong", **STRANGER).status_code for _ in range(6)] == [422] * 5 + [429]


# Codes


@pytest.fixture
def factor(ada: User) -> None:
    """Ada signs in with a second factor."""
    two_factor.turn_on(ada, secret="sealed", recovery=[], step=1, key="", now=timezone.now())


def test_forty_wrong_codes_are_stopped_at_five_whatever_the_device(
    ada: User, factor: None, caplog: pytest.LogCaptureFixture
):
    found = []
    for number in range(12):
        browser = Client()
        sign_in(browser, REMOTE_ADDR=f"192.0.2.{number}")
        measured(sessions.remember_device)(users.get("ada"), f"device {number}")
        browser.cookies[requests.DEVICE.name] = requests.DEVICE.sign(
            requests.Signed("ada", f"device {number}")
        )
        found += [browser.post(CODE, {"code": f"00000{n}"}).status_code for n in range(4)]
    assert found == [422] * 5 + [429] * 43
    said = [record.message for record in caplog.records]
    assert sum("event='code_failed' username='ada'" in text for text in said) == 5


def test_who_is_stopped_hears_that_somebody_may_know_their_password(ada: User, factor: None):
    browser = Client()
    sign_in(browser)
    answer = [browser.post(CODE, {"code": "000000"}) for _ in range(6)][-1]
    assert answer.status_code == 429
    assert 0 < int(answer["Retry-After"]) <= 900
    (said,) = answer.context["form"].non_field_errors()
    assert said.endswith("If they were not yours, somebody knows your password: set a new one.")


def tries_of_codes(password: str, number: int, later: Callable[[], Any]) -> list[int]:
    """Sign in and give wrong codes, five each quarter of an hour; return what became of them."""
    browser, found = Client(), []
    for n in range(number):
        if n % 5 == 0:
            later()
            sign_in(browser, password=password)
        found.append(browser.post(CODE, {"code": "000000"}).status_code)
    return found


def test_a_new_password_ends_the_wait_that_a_guesser_of_codes_made_once_a_day(
    ada: User, clock: Callable[..., datetime], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(throttles, "window", window)
    secret, now = second_factor.new_secret(), clock()
    clock(days=1, hours=-now.hour, minutes=-now.minute)
    sealed = second_factor.seal("ada", secret)
    two_factor.turn_on(ada, secret=sealed, recovery=[], step=1, key="", now=timezone.now())

    def later() -> datetime:
        return clock(minutes=15)

    def right(password: str) -> int:
        sign_in(browser := Client(), password=password)
        status: int = browser.post(CODE, {"code": pyotp.TOTP(secret).at(timezone.now())}).status_code
        return status

    assert tries_of_codes(PASSWORD, 21, later) == [422] * 20 + [429]
    assert right(PASSWORD) == 429
    for number, most in enumerate((20, 0)):
        password = f"a new password, number {number}"
        hashed = passwords.hashed(password)
        sessions.change_password(users.get("ada"), password=hashed, now=timezone.now())
        assert right(password) == (302 if most else 429)
        assert tries_of_codes(password, 21, later) == [422] * most + [429] * (21 - most)


def test_a_wrong_password_is_noted_with_its_user(
    browser: Client, ada: User, caplog: pytest.LogCaptureFixture
):
    sign_in(browser, "ada@example.org", "wrong", **STRANGER)
    sign_in(browser, "secret typed as a name", "wrong", **STRANGER)
    failed = [record.message for record in caplog.records if "sign_in_failed" in record.message]
    assert ["username='ada'" in text for text in failed] == [True, False]
    assert all("203.0.113.66" in text for text in failed)
    assert "secret typed" not in caplog.text


# The one table of limits


def test_limits_are_changed_one_by_one():
    usual, changed = limit_table.read(""), limit_table.read(" search=3/2h\n sign-up-total=7/1d ")
    assert changed == usual | {"search": (3, timedelta(hours=2)), "sign-up-total": (7, timedelta(days=1))}


@pytest.mark.parametrize(
    "text",
    [
        "search",
        "search=0/1m",
        "search=5/0m",
        "search=5/1w",
        "search=-1/1m",
        "search=５/1m",
        "search=5/1m,like=5/1m",
        "serch=5/1m",
    ],
)
def test_a_limit_that_is_written_wrong_is_none(text: str):
    with pytest.raises(ValueError, match=r"limits like search=60/1m|'serch' is none"):
        limit_table.read(text)


def use(what: str, *, times: int = 1, now: Any = NOW, own: str = "", **more: Any) -> int:
    """Return how many uses of a browser get through."""
    request: Any = RequestFactory().get("/", **more)
    request.visit, request.user = Visit(request), Anonymous()
    passed = 0
    for _ in range(times):
        try:
            limits.count_use(request, what, now=now, own=own)
            passed += 1
        except TooManyRequests:
            continue
    return passed


@pytest.fixture
def few(settings: Any, fresh_table: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Low limits of something that is counted in memory, and of something in the table."""
    monkeypatch.setattr(throttles, "window", window)
    settings.DEALSITE_LIMITS = settings.DEALSITE_LIMITS | {
        f"{what}{part}": (tries, timedelta(minutes=1))
        for what in ("search", "retry")
        for part, tries in (("", 2), ("-network", 4), ("-total", 5))
    }


@pytest.mark.parametrize("what", ["search", "retry"])
def test_uses_are_limited_by_user_by_network_and_in_all(few: None, what: str):
    assert use(what, times=5, own="ann", REMOTE_ADDR="203.0.113.1") == 2
    assert use(what, times=5, own="bob", REMOTE_ADDR="203.0.113.200") == 2
    assert use(what, times=5, own="eve", REMOTE_ADDR="203.0.113.3") == 0
    assert use(what, times=5, own="ann", REMOTE_ADDR="198.51.100.1") == 0
    assert use(what, times=5, own="eve", REMOTE_ADDR="198.51.100.1") == 1
    assert use(what, own="zoe", REMOTE_ADDR="2001:db8::1") == 0
    later = NOW + timedelta(minutes=1)
    assert use(what, own="ann", REMOTE_ADDR="203.0.113.1", now=later) == 1


@pytest.mark.parametrize("what", ["search", "retry"])
def test_what_is_refused_uses_nothing_up(few: None, what: str):
    assert use(what, times=50, own="ann", REMOTE_ADDR="203.0.113.1") == 2
    assert use(what, times=2, own="bob", REMOTE_ADDR="203.0.113.1") == 2
    assert use(what, own="eve", REMOTE_ADDR="198.51.100.1") == 1


def test_what_is_given_back_is_given_back_at_once(few: None, monkeypatch: pytest.MonkeyPatch):
    slow, counted = (
        SlowTable(monkeypatch),
        [("retry", "ann"), ("retry-network", "home"), ("retry-total", "all")],
    )
    for _ in range(6):  # more often than any of them allows
        tries = limits.count(*counted, now=NOW)
        assert slow.calls_of(tries.succeeded) == 1
        assert slow.calls_of(tries.succeeded) == 0  # once and for all


@pytest.mark.parametrize("what", ["search", "retry"])
def test_uses_at_once_get_no_more_than_the_limit_through(few: None, what: str):
    outcomes = at_once(*[lambda n=n: use(what, own=f"user{n}", REMOTE_ADDR=f"10.{n}.0.1") for n in range(16)])
    assert outcomes.count(1) == 5 if what == "search" else outcomes.count(1) <= 5


def test_what_is_counted_in_memory_costs_no_request_and_little_memory(few: None):
    costs = []
    for number in range(100):
        with table.metered() as meter:
            use("search", own=f"user{number}", REMOTE_ADDR=f"10.0.{number}.1")
        costs.append(meter.calls)
    assert costs == [0] * 100
    assert sum(len(uses) for _, uses in limits._used.values()) == 5 + 5 + 1
    assert limits.used_here("search-total", now=NOW) == 5
    assert limits.used_here("search-total", now=NOW + timedelta(minutes=1)) == 0


def test_a_made_up_session_is_nobodys_and_bound_by_its_network(few: None, settings: Any):
    name = settings.SESSION_COOKIE_NAME
    passed = [
        use("search", REMOTE_ADDR="10.0.0.1", HTTP_COOKIE=f"{name}=ada:{chr(97 + n) * 43}") for n in range(6)
    ]
    assert passed == [1] * 4 + [0] * 2
    assert use("search", REMOTE_ADDR="10.0.9.1", HTTP_COOKIE=f"{name}=ada:{'z' * 43}") == 1


@pytest.mark.parametrize(
    ("address", "network"),
    [("203.0.113.66", "203.0.113.0/24"), ("2001:db8::1", "2001:db8::/64"), ("unknown", "unknown")],
)
def test_what_costs_is_counted_by_wide_networks(address: str, network: str):
    assert wide_network_of(address) == network


def test_each_refusal_is_a_line_and_a_row_of_the_security_log(
    browser: Client, ada: User, caplog: pytest.LogCaptureFixture
):
    statuses(9, **STRANGER)
    statuses(9, name="nobody", **STRANGER)
    said = [record.message for record in caplog.records if "event='throttled'" in record.message]
    assert len(said) == 8
    assert "username='ada' network='203.0.113.66'" in said[0]
    rows = security_events.page(event="throttled").rows
    assert {(row.username, row.network, row.detail) for row in rows} >= {
        ("ada", "203.0.113.66", "sign-in"),
        ("", "203.0.113.66", "sign-in"),
    }


# A proxy that nobody told of


def through(visitor: str, *, name: str, password: str = "wrong", peer: str = "127.0.0.1") -> int:  # noqa: S107
    more = {"REMOTE_ADDR": peer, "HTTP_X_FORWARDED_FOR": visitor}
    status: int = sign_in(Client(), name, password, **more).status_code
    return status


def test_wrong_sign_ins_through_an_unknown_proxy_lock_nobody_else_out(browser: Client, ada: User):
    assert [through("203.0.113.66", name=f"victim{n % 9}") for n in range(60)] == [422] * 60
    assert through("198.51.100.7", name="ada", password=PASSWORD) == 302
    assert [through(f"203.0.113.{n}", name="eve") for n in range(41)] == [422] * 40 + [429]
    assert through("198.51.100.7", name="ada", password=PASSWORD) == 302


def test_even_through_an_unknown_proxy_guessing_ends(ada: User, settings: Any):
    settings.DEALSITE_LIMITS = settings.DEALSITE_LIMITS | {"sign-in-unknown": (8, timedelta(minutes=15))}
    assert [through("203.0.113.1", name=f"victim{n}") for n in range(10)] == [422] * 8 + [429] * 2


def test_a_visitor_who_makes_up_a_header_is_counted_all_the_same(browser: Client, ada: User):
    found = [through(f"198.51.100.{n}", name="ada", peer="203.0.113.66") for n in range(6)]
    assert found == [422] * 5 + [429]
    assert [through(f"10.0.0.{n}", name=f"victim{n}", peer="203.0.113.66") for n in range(26)][-1] == 429


@pytest.mark.parametrize(
    ("peer", "headers", "proxies_known", "is_behind"),
    [
        ("127.0.0.1", {"HTTP_X_FORWARDED_FOR": "x"}, 0, True),
        ("::1", {"HTTP_FORWARDED": "for=x"}, 0, True),
        ("10.0.0.1", {"HTTP_X_REAL_IP": "x"}, 0, True),
        ("10.0.0.1", {"HTTP_CF_CONNECTING_IP": "x"}, 0, True),
        ("10.0.0.1", {"HTTP_TRUE_CLIENT_IP": "x"}, 0, True),
        ("10.0.0.1", {"HTTP_VIA": "1.1 proxy"}, 0, True),
        ("10.0.0.1", {"HTTP_X_FORWARDED_HOST": "x"}, 0, True),
        ("127.0.0.1", {"HTTP_X_FORWARDED_PROTO": "https"}, 0, True),
        ("::ffff:10.1.2.3", {"HTTP_X_FORWARDED_FOR": "x"}, 0, True),
        ("172.20.0.1", {"HTTP_X_FORWARDED_FOR": "x"}, 0, True),
        ("", {"HTTP_X_FORWARDED_FOR": "x"}, 0, True),
        ("127.0.0.1", {}, 0, False),
        ("127.0.0.1", {"HTTP_X_FORWARDED_FOR": "x"}, 1, False),
        ("8.8.8.8", {"HTTP_X_FORWARDED_FOR": "x"}, 0, False),
        ("203.0.113.1", {"HTTP_FORWARDED": "for=10.0.0.1"}, 0, False),
        ("2a00::1", {"HTTP_X_FORWARDED_FOR": "x"}, 0, False),
    ],
)
def test_a_proxy_is_told_by_its_headers_and_its_address(
    settings: Any, peer: str, headers: dict[str, str], proxies_known: int, is_behind: bool
):
    settings.DEALSITE_TRUSTED_PROXIES = proxies_known
    request = RequestFactory().get("/")
    request.META.update({"REMOTE_ADDR": peer, **headers})
    assert is_behind_unknown_proxy(request) is is_behind


def test_uses_through_an_unknown_proxy_are_limited_by_user_and_in_all(few: None):
    behind = {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": "x"}
    assert use("retry", times=3, own="ann", **behind) == 2
    assert use("retry", times=3, own="bob", **behind) == 2
    assert use("retry", times=3, own="eve", **behind) == 1


def test_the_log_says_so_once_a_minute(
    browser: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    categories.create_all()
    times = [0.0]
    monkeypatch.setattr(requests, "clock", lambda: times[-1])
    monkeypatch.setattr(requests, "_warned", {"at": float("-inf")})
    for at in (0.0, 59.9, 60.0):
        times.append(at)
        assert browser.get("/account/sign-in/", HTTP_X_FORWARDED_FOR="203.0.113.1").status_code == 200
    browser.get("/account/sign-in/", HTTP_X_FORWARDED_FOR="203.0.113.1", REMOTE_ADDR="203.0.113.9")
    said = [record for record in caplog.records if "proxy_not_trusted" in record.message]
    assert [record.levelname for record in said] == ["WARNING"] * 2
    assert "DEALSITE_TRUSTED_PROXIES" in said[0].message
    assert browser.get("/readyz", HTTP_X_FORWARDED_FOR="203.0.113.1").status_code == 200


# The default numbers


def test_an_attack_gets_few_tries_by_default():
    names = ("sign-in", "sign-in-devices", "code", "code-day", "code-user-day")
    assert [limits.limit(name).tries for name in names] == [5, 20, 5, 20, 40]
    assert limits.limit("new-cart-network").tries <= 30


def test_a_right_password_is_refused_as_a_wrong_one_is_once_the_tries_are_used_up(ada: User):
    statuses(5, **STRANGER)
    answers = [sign_in(Client(), "ada", password, **STRANGER) for password in (PASSWORD, "wrong")]
    assert {(answer.status_code, *errors_of(answer)) for answer in answers} == {(429, WAIT)}
