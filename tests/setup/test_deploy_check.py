"""What is unsafe on a public site is refused: by `check --deploy`, by the launcher, and by load_demo."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from dealsite.checks import DEMO_LOADED, unsafe_public_settings
from dealsite.processes import launcher
from tests.setup.test_environment import settings_with

ROOT = Path(__file__).resolve().parent.parent.parent
PUBLIC = {
    "DEALSITE_URL": "https://deals.example",
    "DEALSITE_TRUSTED_PROXIES": "1",
    "DEALSITE_REQUIRE_TWO_FACTOR": "yes",
    "DEALSITE_SECURITY_CONTACT": "mailto:security@deals.example",
    "DEALSITE_SMTP_HOST": "mail.deals.example",
    "DEALSITE_GATEWAY": "stripe",
    "STRIPE_SECRET_KEY": "sk_live_none",
}


def check(var: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the deployment check as an operator does."""
    return subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "DEALSITE_VAR": str(var)} | environ,
        capture_output=True,
        text=True,
    )


@pytest.fixture
def public(settings, tmp_path):
    """The settings of a public site that is set up well."""
    settings.VAR = tmp_path / "var"
    settings.VAR.mkdir(mode=0o700)
    settings.DEALSITE_URL, settings.HTTPS = "https://deals.example", True
    settings.DEBUG = False
    settings.SECRET_KEY = "JxMmbYzB0nE6hV1tqQw8uR3kPfLs5cDaGoTi7ZyN"
    settings.ALLOWED_HOSTS = ["deals.example"]
    settings.DEALSITE_TRUSTED_PROXIES = 1
    settings.DEALSITE_GATEWAY, settings.STRIPE_SECRET_KEY = "stripe", "sk_live_none"
    settings.DYNAMODB_ENDPOINT_URL = "http://127.0.0.1:9"
    settings.DEALSITE_SECURITY_CONTACT = "mailto:security@deals.example"
    settings.EMAIL_HOST, settings.EMAIL_USE_TLS, settings.EMAIL_USE_SSL = "mail.deals.example", True, False
    for cookie in ("SESSION", "CSRF"):
        setattr(settings, f"{cookie}_COOKIE_SECURE", True)
        setattr(settings, f"{cookie}_COOKIE_NAME", f"__Host-{cookie.lower()}")
    return settings


def found() -> list[str]:
    return [message.id for message in unsafe_public_settings()]


def test_a_public_site_that_is_set_up_well_has_nothing_to_refuse(public):
    assert found() == []


def test_a_site_for_this_machine_alone_has_nothing_to_refuse(public):
    public.DEALSITE_URL, public.HTTPS, public.DEBUG = "http://127.0.0.1:8000", False, True
    public.DEALSITE_GATEWAY, public.DEALSITE_TRUSTED_PROXIES, public.DEALSITE_SECURITY_CONTACT = "test", 0, ""
    public.SESSION_COOKIE_SECURE = public.CSRF_COOKIE_SECURE = False
    assert found() == []


UNSAFE: list[tuple[str, dict[str, Any]]] = [
    ("debug", {"DEBUG": True}),
    ("secret_key", {"SECRET_KEY": "none"}),
    ("secret_key", {"SECRET_KEY": "JxMmbYzB0nE6hV1tqQw8uR3kPfLs5cD"}),  # 31 characters
    ("secret_key", {"SECRET_KEY": "abcdefghi" * 8}),
    ("plain_http", {"DEALSITE_URL": "http://deals.example", "HTTPS": False}),
    ("plain_http", {"DEALSITE_URL": "http://192.168.1.5:8000", "HTTPS": False}),
    ("hosts", {"ALLOWED_HOSTS": ["deals.example", "*"]}),
    ("proxies", {"DEALSITE_TRUSTED_PROXIES": 0}),
    ("test_gateway", {"DEALSITE_GATEWAY": "test"}),
    ("test_gateway", {"STRIPE_SECRET_KEY": "sk_test_none"}),
    ("test_gateway", {"STRIPE_SECRET_KEY": "rk_test_none"}),
    ("stripe_key", {"STRIPE_SECRET_KEY": ""}),
    ("cookies", {"SESSION_COOKIE_SECURE": False}),
    ("cookies", {"SESSION_COOKIE_HTTPONLY": False}),
    ("cookies", {"SESSION_COOKIE_SAMESITE": "None"}),
    ("cookies", {"CSRF_COOKIE_NAME": "csrftoken"}),
    ("plain_table", {"DYNAMODB_ENDPOINT_URL": "http://10.0.0.7:8000"}),
    ("plain_mail", {"EMAIL_USE_TLS": False}),
    ("security_contact", {"DEALSITE_SECURITY_CONTACT": ""}),
]


@pytest.mark.usefixtures("public")
def test_an_unsafe_setting_is_found_and_nothing_else(subtests):
    for name, unsafe in UNSAFE:
        with subtests.test(name=name, unsafe=unsafe), override_settings(**unsafe):
            assert found() == [f"dealsite.{name}"]
            (message,) = unsafe_public_settings()
            assert message.is_serious() is (name != "security_contact")
            assert message.hint


def test_a_data_folder_that_others_can_enter_is_found(public):
    for mode in (0o750, 0o701):
        public.VAR.chmod(mode)
        assert found() == ["dealsite.data_folder"]


def test_demo_accounts_on_a_public_site_are_found(public):
    (public.VAR / DEMO_LOADED).touch()
    assert found() == ["dealsite.demo"]


def test_check_deploy_passes_a_good_site_and_refuses_a_bad_one(tmp_path):
    good = check(tmp_path / "good", **PUBLIC)
    assert good.returncode == 0, good.stdout + good.stderr
    bad = check(tmp_path / "bad", **PUBLIC | {"DEALSITE_SECRET_KEY": "none"})
    assert bad.returncode == 1
    assert "dealsite.secret_key" in bad.stderr
    assert "HINT: Remove DEALSITE_SECRET_KEY" in bad.stderr


def test_a_risk_can_be_accepted_by_its_name(tmp_path):
    accepted = "dealsite.test_gateway dealsite.demo"
    found = settings_with(tmp_path, "SILENCED_SYSTEM_CHECKS", DEALSITE_ACCEPTED_RISKS=accepted)
    assert found["SILENCED_SYSTEM_CHECKS"][-2:] == accepted.split()


def test_the_launcher_starts_no_public_site_that_is_unsafe(public, capfd):
    public.SECRET_KEY = "none"
    with pytest.raises(SystemExit, match="1"):
        launcher.apart(launcher.check_code)
    assert "SystemCheckError" in (said := capfd.readouterr().err)
    assert "dealsite.secret_key" in said
    assert "Traceback" not in said
    public.DEALSITE_URL, public.HTTPS = "http://127.0.0.1:8000", False
    launcher.apart(launcher.check_code)


def test_the_demo_never_goes_into_a_public_site_by_itself(public, monkeypatch):
    public.DEALSITE_DEMO = True
    monkeypatch.setattr(subprocess, "call", lambda command, **_: pytest.fail(str(command)))
    launcher.load_demo_once(table_is_new=True, say=lambda text: None)


def test_the_demo_of_a_public_site_has_to_be_asked_for(public):
    public.DEALSITE_EMBEDDED = True
    with pytest.raises(CommandError, match=r"is of a public site.*with random passwords: load_demo --yes"):
        call_command("load_demo")
