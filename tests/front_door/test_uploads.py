"""More than 1 MB is read only where a page takes files, from those who may send one there."""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path

import pytest
from django.urls import URLResolver, get_resolver
from django.utils import timezone

from dealsite.accounts import requests
from dealsite.data import table
from dealsite.data.people import sessions
from dealsite.front_door.connections import SMALL_BYTES
from dealsite.web.uploads import PICTURE_FORM
from dealsite.wsgi import application
from tests.front_door.conftest import everything
from tests.people import make_user

ROOT = Path(__file__).resolve().parent.parent.parent
IMPORTS, PICTURE = "/cms/imports/", "/cms/pictures/"
LARGE = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n%s\r\n--x--\r\n' % (
    b"title;price\n" * 120_000
)
ROUND_TRIP = 3_000_000  # what the kernel holds of an upload that nobody reads, and what is thrown away


@pytest.fixture
def web(fresh_table, serve, settings, tmp_path):
    """The whole site."""
    settings.MEDIA_ROOT, settings.ALLOWED_HOSTS = tmp_path, ["127.0.0.1"]
    return serve(application)


def head(
    web, path: str, *roles: str, length: int = len(LARGE), site: str = "same-origin", key: str = ""
) -> dict:
    """Return the headers of an upload by a user with some roles; `-` for nobody."""
    fields = {
        "Host": f"127.0.0.1:{web.port}",
        "Content-Type": "multipart/form-data; boundary=x",
        "Content-Length": str(length),
        "Sec-Fetch-Site": site,
    }
    if roles != ("-",):
        user = make_user(roles=roles)
        kept = requests.new_key()
        sessions.start(user, key=kept, user_agent="", address="127.0.0.1", now=timezone.now())
        fields["Cookie"] = f"{cookie_name()}={user.username}:{key or kept}"
    return fields


def cookie_name() -> str:
    from django.conf import settings

    return settings.SESSION_COOKIE_NAME


def raw(path: str, fields: dict) -> bytes:
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode()


def upload(web, path: str, fields: dict, body: bytes = LARGE) -> tuple[int, bytes]:
    """Send an upload as a browser does, and return the status and text of the answer."""
    one = web.connect(raw(path, fields))
    with contextlib.suppress(OSError):  # refused while it was sent
        one.sendall(body)
    answer = b""
    try:
        while part := one.recv(65_536):
            answer += part
            if b"</html>" in answer or b"\r\nlocation: " in answer:
                break
    except OSError:
        pass
    found = re.match(rb"HTTP/1\.1 (\d{3})", answer)
    return int(found[1]) if found else 0, answer


def test_an_editor_may_upload_a_file_and_the_csrf_token_is_asked_for_then(web):
    status, answer = upload(web, IMPORTS, head(web, IMPORTS, "editor"))
    assert status == 403
    assert b"csrf" in answer.lower() or b"form" in answer.lower()
    assert web.environs[-1]["CONTENT_LENGTH"] == str(len(LARGE))


def test_an_import_of_a_large_file_arrives(web):
    fields = head(web, IMPORTS, "editor")
    token = "a" * 32
    fields["Cookie"] += f"; {cookie_name().replace('session', 'csrftoken')}={token}"
    parts = LARGE.replace(
        b"--x\r\n",
        b'--x\r\nContent-Disposition: form-data; name="csrfmiddlewaretoken"\r\n\r\n'
        + token.encode()
        + b"\r\n--x\r\n",
        1,
    )
    fields["Content-Length"] = str(len(parts))
    status, answer = upload(web, IMPORTS, fields, parts)
    assert status == 302, answer
    assert b"\r\nlocation: /cms/imports/" in answer


def test_who_may_not_upload_here_is_refused_before_it_is_read(web, subtests):
    for declared in [True, False]:
        for path, roles, site in [
            ("/no/such/page/", ("-",), "same-origin"),
            ("/", ("editor",), "same-origin"),
            ("/account/sign-in/", ("-",), "same-origin"),
            ("/cms/featured/", ("editor",), "same-origin"),
            (IMPORTS, ("-",), "same-origin"),
            (IMPORTS, (), "same-origin"),
            (IMPORTS, ("back office",), "same-origin"),
            (IMPORTS, ("editor",), "cross-site"),
            (IMPORTS, ("editor",), "same-site"),
            (IMPORTS, ("editor",), "none"),
        ]:
            with subtests.test(path=path, roles=roles, site=site, declared=declared):
                fields = head(web, path, *roles, site=site, length=90_000_000)
                if not declared:
                    del fields["Content-Length"]
                    fields["Transfer-Encoding"] = "chunked"
                one = web.connect(raw(path, fields), SO_SNDBUF=65_536)
                piece, sent = os.urandom(50_000), 0
                try:
                    while sent < 90_000_000:
                        one.sendall(piece if declared else b"%x\r\n%s\r\n" % (len(piece), piece))
                        sent += len(piece)
                except OSError:
                    pass
                assert sent < SMALL_BYTES * 2 + ROUND_TRIP + 4_000_000
                (environ,) = web.environs
                web.environs.clear()
                assert environ["CONTENT_LENGTH"] == "0"


def test_who_is_refused_reads_why(web):
    status, answer = upload(web, IMPORTS, head(web, IMPORTS, "-"))
    assert status == 413
    assert b"That is more than this page takes" in answer
    assert b"sign in in another window" in answer
    assert b'id="error"' in answer  # which htmx shows above the form
    assert b"\r\ncontent-security-policy: " in answer
    assert b"\r\nconnection: close\r\n" in answer


def test_who_is_refused_may_go_on_sending_for_a_moment_so_that_the_answer_is_not_lost(web):
    one = web.connect(raw(IMPORTS, head(web, IMPORTS, "-", length=90_000_000)))
    assert one.recv(12) == b"HTTP/1.1 413"
    for _ in range(4):
        one.sendall(bytes(10_000))
        time.sleep(0.05)
    began = time.monotonic()
    assert b"</html>" in everything(one)
    assert time.monotonic() - began < 5


def test_a_session_that_is_made_up_is_refused(web):
    assert upload(web, IMPORTS, head(web, IMPORTS, "editor", key="A" * 43))[0] == 413


def test_an_editor_who_has_yet_to_set_up_their_second_factor_is_refused(web, settings):
    settings.DEALSITE_REQUIRE_TWO_FACTOR = True
    assert upload(web, IMPORTS, head(web, IMPORTS, "editor"))[0] == 413


@pytest.mark.parametrize(
    ("path", "length", "most"), [(IMPORTS, 200_000_000, b"50 MB"), (PICTURE, PICTURE_FORM + 1, b"10 MB")]
)
def test_an_editor_whose_file_is_too_large_reads_how_large_one_may_be(web, path, length, most):
    status, answer = upload(web, path, head(web, path, "editor", length=length))
    assert status == 413
    answer = b" ".join(answer.split())
    assert b"A file has at most " + most in answer
    assert f'<a class="btn btn-primary" href="{path}">'.encode() in answer
    assert b'id="error"' in answer


def test_who_waits_to_be_told_to_go_on_is_refused_without_sending(web):
    fields = head(web, IMPORTS, "-") | {"Expect": "100-continue"}
    assert web.connect(raw(IMPORTS, fields)).recv(12) == b"HTTP/1.1 413"


def test_an_older_browser_says_its_origin(web):
    fields = head(web, IMPORTS, "editor")
    del fields["Sec-Fetch-Site"]
    assert upload(web, IMPORTS, fields)[0] == 413
    fields = head(web, IMPORTS, "editor") | {"Origin": f"http://127.0.0.1:{web.port}"}
    del fields["Sec-Fetch-Site"]
    assert upload(web, IMPORTS, fields)[0] == 403  # read, and without a token


def test_a_table_that_is_away_is_a_503(web, settings):
    fields = head(web, IMPORTS, "editor")
    kept = settings.DYNAMODB_ENDPOINT_URL
    settings.DYNAMODB_ENDPOINT_URL = "http://127.0.0.1:9"
    table.reset()
    try:
        one = web.connect(raw(IMPORTS, fields))
        assert one.recv(12) == b"HTTP/1.1 503"
    finally:
        settings.DYNAMODB_ENDPOINT_URL = kept
        table.reset()


def test_each_view_that_reads_files_says_how_much_it_takes_and_no_other():
    marked = {view.__module__ for view in views() if hasattr(view, "most_bytes")}
    reading = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for room in ("cms", "shopping", "dealsite/accounts")
        for path in (ROOT / room).rglob("*.py")
        if "request.FILES" in path.read_text("utf-8")
    }
    assert marked | {"dealsite.accounts.decorators"} == reading
    assert marked != set()


def test_each_view_that_takes_files_names_a_role():
    assert [view for view in views() if hasattr(view, "most_bytes") and not view.required_roles] == []


def views() -> list:
    found, rooms = [], list(get_resolver().url_patterns)
    for one in rooms:
        if isinstance(one, URLResolver):
            rooms += one.url_patterns
        else:
            found.append(one.callback)
    return found
