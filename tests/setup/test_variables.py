"""The variables that settings declare: what may stand in one, and what is said of one that cannot be or is none."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured

from dealsite.variables import FILE, VARIABLES, Variable, refuse_misfits, unknown

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "settings.md"


GOOD = {
    "DEALSITE_TIME_ZONE": ("America/Argentina/Buenos_Aires", "America/Argentina/Buenos_Aires"),
    "DEALSITE_CURRENCY": ("gbp", "GBP"),
    "DEALSITE_LOG_LEVEL": ("debug", "DEBUG"),
    "DEALSITE_GATEWAY": ("Stripe", "stripe"),
    "DEALSITE_URL": (" https://deals.example/ ", "https://deals.example"),
    "DYNAMODB_ENDPOINT_URL": ("unix:/run/engine.sock", "unix:/run/engine.sock"),
    "DEALSITE_MAIL_FROM": ("Deals <noreply@deals.example>", "Deals <noreply@deals.example>"),
    "DEALSITE_HOSTS": ("deals.example [::1] .shop.example", ["deals.example", "[::1]", ".shop.example"]),
    "DEALSITE_DEBUG": ("TRUE", True),
    "DEALSITE_NIGHTLY_CHECK": ("off", False),
    "DEALSITE_NAME": ("", "Dealsite"),
    "DEALSITE_LAKE": ("s3://deals/lake/", "s3://deals/lake"),
}
BAD = {
    "PORT": ("0", "65536", "-1", "8o", "1.5", "²", "9" * 5000),
    "DEALSITE_SMTP_PORT": ("0", "smtp"),
    "DEALSITE_CLIENT_SECONDS": ("0", "00"),
    "DEALSITE_CONNECTIONS": ("0", "-1", "1.5", "²", "9" * 5000),
    "DEALSITE_DEBUG": ("maybe", "2"),
    "DEALSITE_TIME_ZONE": ("Berlin", "../../etc/passwd", "/etc/localtime", "Europe", "CEST+1"),
    "DEALSITE_CURRENCY": ("€", "EURO", "XYZ", "JPY", "KWD", "XXX", "XTS", "XAU", "XDR", "DEM", "HRK"),
    "DEALSITE_LANGUAGE": ("fr", "english"),
    "DEALSITE_GATEWAY": ("paypal", "strip"),
    "DEALSITE_LOG_LEVEL": ("LOUD", "5"),
    "DEALSITE_LOG_FORMAT": ("xml",),
    "DEALSITE_ENGINE": ("moto",),
    "DEALSITE_URL": (
        "deals.example",
        "ftp://deals.example",
        "https://deals.example/path",
        "https://",
        "https://a:b",
    ),
    "DEALSITE_HOSTS": ("deals.example:8000", "https://deals.example", "a/b"),
    "DEALSITE_MEDIA_HOST": ("https://media.example", "a b"),
    "DEALSITE_SECURITY_CONTACT": (
        "security@deals.example",
        "http://deals.example/",
        "mailto:a b",
        "mailto:a\nX: y",
    ),
    "DEALSITE_ALARM_MAIL": ("nobody", "a@b, c@d,"),
    "DEALSITE_MAIL_FROM": ("nobody", "a <b", "a\nBcc: b <c@d>"),
    "DEALSITE_LAKE": ("deals/lake", "https://deals/lake", "s3://"),
    "DEALSITE_LIMITS": ("search", "search=0/1m", "serach=1/1m"),
}


def test_a_variable_is_read_as_what_it_is(monkeypatch, subtests):
    for name, (text, read) in GOOD.items():
        with subtests.test(name=name), monkeypatch.context() as patch:
            patch.setenv(name, text)
            assert VARIABLES[name].value() == read


def test_a_variable_that_cannot_be_is_refused_by_name(monkeypatch, subtests):
    for name, text in [(name, text) for name, texts in BAD.items() for text in texts]:
        with subtests.test(name=name, text=text), monkeypatch.context() as patch:
            patch.setenv(name, text)
            with pytest.raises(ImproperlyConfigured, match=rf"^{name} should be .+, and is "):
                VARIABLES[name].value()


def test_a_site_with_variables_that_cannot_be_names_all_of_them_in_sentences(tmp_path):
    wrong = {"DEALSITE_TIME_ZONE": "Berlin", "DEALSITE_CURRENCY": "JPY", "PORT": "99999"}
    environ = {"PATH": os.environ["PATH"], "DEALSITE_VAR": str(tmp_path), **wrong}
    command = [sys.executable, "manage.py", "check", "--deploy"]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "PORT should be a whole number from 1 to 65535, and is '99999'.",
        "DEALSITE_CURRENCY should be the code of a currency with two decimal places, like EUR, and is 'JPY'.",
        "DEALSITE_TIME_ZONE should be a time zone like Europe/Berlin, and is 'Berlin'.",
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_mail_server_is_spoken_to_with_one_kind_of_encryption(tmp_path):
    wrong = {"DEALSITE_SMTP_PORT": "465", "DEALSITE_SMTP_STARTTLS": "yes"}
    environ = {"PATH": os.environ["PATH"], "DEALSITE_VAR": str(tmp_path), **wrong}
    command = [sys.executable, "manage.py", "check"]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "DEALSITE_SMTP_STARTTLS should be no with port 465, which is encrypted from the start.\n"
    )


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("DEALSITE_TIMEZONE", "DEALSITE_TIME_ZONE"),
        ("DEALSITE_SECRET_KEYFILE", "DEALSITE_SECRET_KEY_FILE"),
        ("DEALSITE_NAME_FILE", "DEALSITE_NAME"),
        ("DEALSITE_QQQQQQQQQQQQQQQQQQQQQQQQ", ""),
    ],
)
def test_a_variable_that_is_none_is_named_with_the_nearest(monkeypatch, name, nearest):
    monkeypatch.setenv(name, "x")
    (found,) = [one for one in run_checks() if one.id == "dealsite.unknown_setting"]
    assert found.msg == f"{name} is no setting."
    assert found.hint == (f"Did you mean {nearest}?" if nearest else "docs/settings.md lists them.")


def test_all_that_settings_declare_is_known():
    files = {f"{one.name}{FILE}": "x" for one in VARIABLES.values() if one.is_secret}
    given = dict.fromkeys(VARIABLES, "x") | files
    assert list(unknown(given | {"PATH": "x", "STRIPE_X": "x"})) == []


def test_a_site_with_a_setting_that_is_gone_does_not_start_and_says_what_to_do(monkeypatch, subtests):
    for name, todo in {
        "DEALSITE_HISTORY_TABLE": "docs/upgrading.md",
        "DEALSITE_PROJECTIONS": "take it out",
    }.items():
        with subtests.test(name=name), monkeypatch.context() as patch:
            patch.setenv(name, "search")
            with pytest.raises(ImproperlyConfigured, match=rf"^{name} is no setting any more\. .*{todo}"):
                refuse_misfits()


def test_a_secret_that_cannot_be_is_not_told(monkeypatch):
    def refuse(text: str) -> str:
        raise ValueError("longer")

    monkeypatch.setenv("STRIPE_SECRET_KEY", "sk_live_1")
    with pytest.raises(ImproperlyConfigured, match="should be longer, and is something else"):
        Variable("STRIPE_SECRET_KEY", refuse, "", is_secret=True).value()


def test_each_is_declared_once_and_shown_with_its_meaning_and_read_nowhere_else():
    declared = re.findall(r'\benv\(\s*"(\w+)"', (ROOT / "dealsite" / "settings.py").read_text("utf-8"))
    assert sorted(declared) == sorted(VARIABLES)
    shown = re.findall(r"^\| `([A-Z_]+)` \| .* \| \S.+ \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert shown == declared
    for path in [path for room in ("dealsite", "cms", "shopping") for path in (ROOT / room).rglob("*.py")]:
        assert not re.findall(
            r'environ(?:\.get\(|\[)"DEALSITE_\w+"(?:\)|\](?! =))', path.read_text("utf-8")
        ), path
