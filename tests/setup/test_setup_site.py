"""manage.py setup_site: what it makes, what it tries, and what it says is missing."""

from __future__ import annotations

import io
import json
import socketserver
import subprocess
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest
from django.core.management import CommandError, call_command

from dealsite import site_setup
from dealsite.accounts import passwords, sign_in
from dealsite.data import keys, table
from dealsite.data.catalogue import categories, publishing
from dealsite.data.integrity import checks
from dealsite.data.people import users
from dealsite.data.table import errors, schema
from dealsite.data.table.paging import Page
from dealsite.data.table.schema import drift
from dealsite.data.table.writes import Delete
from dealsite.processes import launcher
from dealsite.site_setup import Finding
from dealsite.web import readiness
from tests.builders import NOW, make_brand, make_content, make_id
from tests.people import make_user
from tests.races import at_once

PASSWORD = "quiet-otters-at-noon"
ADMIN = ("--admin", "olga", "--email", "olga@deals.example", "--yes")
SECOND = timedelta(seconds=1)
Run = Callable[..., str]


@pytest.fixture
def no_table(engine: str, settings: Any) -> Iterator[None]:
    """A DynamoDB somewhere else, without a table."""
    settings.DEALSITE_TABLE, settings.DEALSITE_EMBEDDED = "first-day", False
    yield
    table.call("UpdateTable", TableName="first-day", DeletionProtectionEnabled=False)
    table.call("DeleteTable", TableName="first-day")


@pytest.fixture
def setup_site(no_table: None, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command with a line of standard input; return what it prints, and its last sentence if it fails."""

    def run(*arguments: str, line: str = PASSWORD + "\n") -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO(line))
        out = io.StringIO()
        try:
            call_command("setup_site", *arguments, stdout=out)
        except CommandError as error:
            return f"{out.getvalue()}{error}\n"
        return out.getvalue()

    return run


def test_a_new_site_can_publish_its_first_deal(setup_site: Run):
    said = setup_site(*ADMIN)
    assert "ok       table     first-day at " in said
    assert said.endswith("The site is ready.\n")
    olga = users.get("olga")
    assert (olga.email, set(olga.roles)) == ("olga@deals.example", {"admin"})
    assert passwords.matches(PASSWORD, olga.password)
    assert table.call("DescribeTable", TableName="first-day")["Table"]["DeletionProtectionEnabled"] is True
    brand = make_brand()
    publishing.publish(make_content(), deal_id=make_id(), brand=brand, by="olga", now=NOW)
    assert [str(problem) for problem in checks.find()] == []


def test_it_can_be_repeated_and_changes_nothing(setup_site: Run):
    setup_site(*ADMIN)
    before = {(item["PK"], item["SK"]): item for item in table.scan_all()}
    said = setup_site(*ADMIN, line="another password\n")
    assert "olga is an admin already; the password is as it was." in said
    assert {(item["PK"], item["SK"]): item for item in table.scan_all()} == before


def test_without_an_admin_the_site_is_not_ready_and_says_how_to_make_one(setup_site: Run):
    said = setup_site("--yes")
    assert "MISSING  admin     Nobody can administer the site.\n" in said
    assert "-> Make the first account: manage.py setup_site --admin NAME --email E\n" in said
    assert said.endswith("The site is not ready: 1 of these is missing.\n")


@pytest.mark.parametrize(
    ("arguments", "line", "sentence"),
    [
        (ADMIN, "short\n", "olga was not made: This password is too short"),
        (ADMIN, "", "olga was not made: Standard input holds no password."),
        (("--admin", "olga", "--yes"), PASSWORD, "olga was not made: Enter an e-mail address"),
    ],
)
def test_an_admin_who_cannot_be_made_is_missing(setup_site: Run, arguments: Any, line: str, sentence: str):
    assert sentence in setup_site(*arguments, line=line)
    assert users.find("olga") is None


def test_a_shopper_of_that_name_is_not_made_an_admin(setup_site: Run):
    setup_site("--yes")
    make_user("olga")
    assert "MISSING  admin     olga is a user already, and no admin.\n" in setup_site(*ADMIN)
    assert users.get("olga").roles == frozenset()


def test_scripts_have_to_say_yes(setup_site: Run):
    assert setup_site() == "Nobody is there to ask: say --yes to make what is missing.\n"
    schema.create_table()


def test_warm_throughput_needs_both_numbers(setup_site: Run):
    assert "belong together" in setup_site("--yes", "--warm-read", "5000")
    schema.create_table()


def test_a_table_that_answers_nothing_is_an_error(settings: Any, capsys: Any):
    settings.DYNAMODB_ENDPOINT_URL, settings.DEALSITE_EMBEDDED = "http://127.0.0.1:9", False
    table.reset()
    with pytest.raises(CommandError, match="cannot reach its data"):
        call_command("setup_site", "--yes")
    table.reset()


def test_what_is_off_of_a_table_is_named_and_repair_turns_it_on(setup_site: Run):
    table.call("CreateTable", TableName="first-day", **schema.definition())
    categories.create_all()
    said = setup_site(*ADMIN)
    assert "The TTL attribute is off, and should be ttl.\n" in said
    assert "The protection against deletion is off, and should be on.\n" in said
    assert said.count("manage.py setup_site --repair turns it on.") == 2
    assert said.endswith("2 of these are missing.\n")
    assert setup_site("--yes", "--repair").endswith("The site is ready.\n")


def test_a_table_whose_making_was_cut_short_is_finished(setup_site: Run):
    definition = schema.definition()
    del definition["StreamSpecification"]
    table.call("CreateTable", TableName="first-day", **definition)
    assert setup_site(*ADMIN).endswith("The site is ready.\n")


def test_who_may_not_turn_on_is_told_what_is_off(setup_site: Run, monkeypatch: pytest.MonkeyPatch):
    def denied(name: str, **_: Any) -> None:
        raise errors.Misconfigured(reason="AccessDeniedException")

    table.call("CreateTable", TableName="first-day", **schema.definition())
    monkeypatch.setattr(schema, "switch_on", denied)
    assert "AccessDeniedException" in setup_site("--yes", "--repair")
    assert setup_site(*ADMIN).endswith("2 of these are missing.\n")


@pytest.mark.parametrize(("sort_key", "why"), [("Order", "The table's key is"), ("SK", "something else")])
def test_the_table_of_another_application_is_left_as_it_is(setup_site: Run, sort_key: str, why: str):
    definition = schema.definition()
    definition["KeySchema"][1]["AttributeName"] = sort_key
    definition["AttributeDefinitions"].append({"AttributeName": sort_key, "AttributeType": "S"})
    del definition["GlobalSecondaryIndexes"], definition["StreamSpecification"]
    used = {"PK", sort_key}
    of_keys = {one["AttributeName"]: one for one in definition["AttributeDefinitions"]}
    definition["AttributeDefinitions"] = [of_keys[name] for name in sorted(used)]
    table.call("CreateTable", TableName="first-day", **definition)
    theirs = {"PK": {"S": "PERSON#1"}, sort_key: {"S": "ORDER#1"}}
    table.call("PutItem", TableName="first-day", Item=theirs, ReturnConsumedCapacity="TOTAL")
    for more in ((), ("--repair",)):
        said = setup_site(*ADMIN, *more)
        assert "The table first-day is not a site's: " in said
        assert why in said
    (left,) = table.scan_all(as_stored=True)
    assert left == {"PK": "PERSON#1", sort_key: "ORDER#1"}
    off = [one for one in drift(protected=True) if " is off" in one]
    assert len(off) == 3


def test_two_that_set_it_up_at_once_make_one_site(no_table: None):
    at_once(site_setup.prepare, site_setup.prepare)
    assert categories.missing() == []
    assert [str(problem) for problem in checks.find()] == []


def test_a_category_that_was_lost_is_not_made_anew_without_its_deals(setup_site: Run):
    setup_site(*ADMIN)
    table.write(Delete(key=keys.category("toys-hobbies")))
    said = setup_site("--yes")
    assert "It lacks the categories toys-hobbies, whose counters are there." in said
    assert "manage.py check_table --repair restores them" in said


# Who is told that nobody is an admin


@pytest.fixture
def new_site(fresh_table: None, monkeypatch: pytest.MonkeyPatch) -> None:
    categories.create_all()
    monkeypatch.setattr(sign_in, "_admin_seen", {"is_there": False})


NOBODY_YET = "Nobody can administer this site yet."


def test_sign_in_says_to_this_machine_alone_that_nobody_is_an_admin(client: Any, new_site: None):
    page = "/account/sign-in/"
    make_user("mara", roles=["editor"])
    assert NOBODY_YET in client.get(page).text
    assert NOBODY_YET not in client.get(page, REMOTE_ADDR="203.0.113.7").text
    assert NOBODY_YET not in client.get(page, HTTP_X_FORWARDED_FOR="127.0.0.1").text
    make_user("olga", roles=["admin"])
    assert NOBODY_YET not in client.get(page).text


def test_the_demo_is_never_loaded_into_a_site_of_somebodys_own(
    new_site: None, settings: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
):
    settings.VAR = tmp_path
    called: list[str] = []
    monkeypatch.setattr(subprocess, "call", called.append)
    make_user("olga", roles=["admin"])
    launcher.load_demo_once(table_is_new=False, say=called.append)
    assert called == []


# Mail


class MailServer(socketserver.StreamRequestHandler):
    """Takes every mail, and signs nobody in."""

    taken: ClassVar[list[str]] = []

    def handle(self) -> None:
        self.wfile.write(b"220 mail\r\n")
        while line := self.rfile.readline().decode().strip():
            match line.split()[0].upper():
                case "EHLO":
                    self.wfile.write(b"250-mail\r\n250 AUTH PLAIN LOGIN\r\n")
                case "AUTH":
                    self.wfile.write(b"535 no\r\n")
                case "DATA":
                    self.wfile.write(b"354 go on\r\n")
                    mail = b""
                    while (line_of_mail := self.rfile.readline()) != b".\r\n":
                        mail += line_of_mail
                    self.taken.append(mail.decode())
                    self.wfile.write(b"250 taken\r\n")
                case "QUIT":
                    self.wfile.write(b"221 bye\r\n")
                    return
                case _:
                    self.wfile.write(b"250 yes\r\n")


@pytest.fixture
def mail_server(settings: Any) -> Iterator[list[str]]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), MailServer) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = server.server_address[:2]
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        MailServer.taken.clear()
        yield MailServer.taken
        server.shutdown()


def test_mail_is_tried_as_far_as_it_should_be(mail_server: list[str], settings: Any):
    settings.DEFAULT_FROM_EMAIL = "Deals <deals@deals.example>"
    (connected,) = site_setup.mail()
    assert (connected.text.endswith("lets the site in."), connected.todo, mail_server) == (True, "", [])
    (sent,) = site_setup.mail("olga@deals.example")
    assert sent.text.endswith("took a mail to olga@deals.example.")
    assert "To: olga@deals.example" in mail_server[0]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"EMAIL_HOST_USER": "site", "EMAIL_HOST_PASSWORD": "x"}, "SMTPAuthenticationError"),
        ({"EMAIL_USE_TLS": True}, "STARTTLS"),
        ({"EMAIL_PORT": 9}, "ConnectionRefusedError"),
        ({"EMAIL_USE_TLS": True, "EMAIL_USE_SSL": True}, "mutually exclusive"),
    ],
    ids=str,
)
def test_a_mail_server_that_refuses_is_missing(
    mail_server: list[str], settings: Any, changed: dict[str, Any], why: str
):
    for name, value in changed.items():
        setattr(settings, name, value)
    (found,) = site_setup.mail()
    assert found.is_needed
    assert why in found.todo


def test_a_sender_that_others_refuse_is_named(mail_server: list[str]):
    assert "noreply@localhost" in [*site_setup.mail()][1].text


@pytest.mark.parametrize(("prints", "is_missing"), [(True, False), (False, True)])
def test_a_site_without_mail_server_is_for_one_machine(settings: Any, prints: bool, is_missing: bool):
    settings.EMAIL_HOST, settings.DEALSITE_SENDS_MAIL = "", prints
    (found,) = site_setup.mail()
    assert bool(found.todo) == is_missing


# What stands in front


@pytest.fixture
def in_front(settings: Any) -> Iterator[dict[str, Any]]:
    """A proxy that answers with what a test says."""
    answer: dict[str, Any] = {"status": 200, "body": b"", "token": None}

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer["token"] = self.headers.get("Authorization")
            self.send_response(answer["status"])
            self.end_headers()
            self.wfile.write(answer["body"])

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.2", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        settings.DEALSITE_URL = f"http://127.0.0.2:{server.server_port}"
        settings.DEALSITE_TRUSTED_PROXIES, settings.DEALSITE_HEALTH_TOKEN = 1, "t0ken"
        yield answer
        server.shutdown()


def told(scheme: str, proxies: int) -> bytes:
    return json.dumps({"ready": True, "caller": {"scheme": scheme, "proxies": proxies}}).encode()


def test_the_proxy_is_seen_from_the_sites_own_address(
    in_front: dict[str, Any], settings: Any, subtests: pytest.Subtests
):
    for body, https, sentence, is_missing in [
        (told("https", 1), True, "The site sees https and the address of each visitor.", False),
        (told("http", 1), True, "Requests over https look like plain http to the site.", True),
        (told("https", 2), True, "2 proxies add to X-Forwarded-For; DEALSITE_TRUSTED_PROXIES is 1.", True),
        (told("http", 0), False, "0 proxies add to X-Forwarded-For; DEALSITE_TRUSTED_PROXIES is 1.", True),
        (b"<h1>Welcome to nginx!</h1>", True, "is answered by something else.", True),
        (b"[]", True, "is answered by something else.", True),
        (b'{"ready": true}', True, "It answers; it does not say what the proxy passes on.", False),
    ]:
        with subtests.test(body=body, https=https, sentence=sentence, is_missing=is_missing):
            settings.HTTPS = https
            for status in (
                200,
                503 if b"ready" in body else 404,
            ):  # a site that is not ready says it all the same
                in_front |= {"body": body, "status": status}
                (found,) = site_setup.proxy()
                assert sentence in found.text
                assert bool(found.todo and found.is_needed) == is_missing
            assert in_front["token"] == "Bearer t0ken"


def test_a_site_that_does_not_run_yet_is_told_to_look_again(settings: Any):
    settings.DEALSITE_URL = "http://127.0.0.2:9"
    (found,) = site_setup.proxy()
    assert (found.text, found.is_needed) == ("http://127.0.0.2:9 does not answer.", False)


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_proxy_without_a_site_behind_it_is_no_reason_not_to_start_one(
    in_front: dict[str, Any], status: int
):
    in_front |= {"body": b"<h1>Bad Gateway</h1>", "status": status}
    (found,) = site_setup.proxy()
    assert found.text.endswith(" does not answer.")
    assert not found.is_needed


# The clock and the disk


@pytest.mark.parametrize(
    ("off", "kind"),
    [(0, "ok"), (2, "ok"), (-3, "ok"), (3, "note"), (-5, "note"), (61, "MISSING"), (-62, "MISSING")],
)
def test_the_clock_is_compared_with_the_tables(
    settings: Any, monkeypatch: pytest.MonkeyPatch, off: int, kind: str
):
    settings.DEALSITE_EMBEDDED = False
    monkeypatch.setattr(schema, "server_time", lambda: NOW + off * SECOND)
    (found,) = site_setup.clock(NOW)
    assert kind == ("ok" if not found.todo else "MISSING" if found.is_needed else "note")


@pytest.mark.usefixtures("fresh_table")
def test_the_table_says_what_time_it_is():
    theirs = schema.server_time()
    assert theirs is not None
    assert theirs.tzinfo is not None


@pytest.mark.parametrize(
    ("room", "kind"), [((False, False), "ok"), ((True, False), "note"), ((True, True), "MISSING")]
)
def test_a_disk_needs_room(monkeypatch: pytest.MonkeyPatch, room: tuple[bool, bool], kind: str):
    space = {"free_bytes": 5 * 10**8, "little": room[0], "too_little": room[1]}
    monkeypatch.setattr(readiness, "disks_now", lambda: {"data": space})
    (found,) = site_setup.disk()
    assert found.text == "500 MB free (data)."
    assert kind == ("ok" if not found.todo else "MISSING" if found.is_needed else "note")


def test_a_folder_that_cannot_be_written_to_is_missing(settings: Any, tmp_path: Any):
    (tmp_path / "file").touch()
    settings.VAR = tmp_path / "file"
    (found,) = site_setup.disk()
    assert found.is_needed
    assert "cannot be used" in found.text


# What is lacking of the table


@pytest.mark.parametrize(
    ("sentence", "todo", "is_needed"),
    [
        ("The stream is off, and should be NEW_AND_OLD_IMAGES.", "--repair", True),
        ("The stream is NEW_IMAGE, and should be NEW_AND_OLD_IMAGES.", "docs/upgrading.md", True),
        (
            "The table takes 1 reads and 1 writes a second from the start, and should take 2 and 2.",
            "aws",
            False,
        ),
        ("The point-in-time recovery is off, and should be on.", "--repair", True),
    ],
)
def test_each_drift_says_what_to_do(
    no_table: None, monkeypatch: pytest.MonkeyPatch, sentence: str, todo: str, is_needed: bool
):
    site_setup.prepare()
    monkeypatch.setattr(site_setup, "drift", lambda **_: [sentence])
    (found,) = site_setup.problems()
    assert (found.text, found.is_needed, todo in found.todo) == (sentence, is_needed, True)


def test_the_admin_is_not_looked_for_among_very_many(fresh_table: None, monkeypatch: pytest.MonkeyPatch):
    assert [*site_setup.no_admin()] == [
        Finding(
            "admin",
            "Nobody can administer the site.",
            "Make the first account: manage.py setup_site --admin NAME --email E",
        )
    ]
    page: Page[users.User] = Page([], after="more")
    monkeypatch.setattr(users, "page", lambda: page)
    assert [*site_setup.no_admin()] == []
