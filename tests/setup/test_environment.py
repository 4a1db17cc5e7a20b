"""What settings read from the environment and the data folder."""

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from dealsite import environment
from dealsite.variables import VARIABLES

ROOT = Path(__file__).resolve().parent.parent.parent


def settings_with(var: Path, *names: str, **environ: str) -> dict:
    """Settings as a new process with just these variables reads them."""
    code = (
        "import json, sys\n"
        "from dealsite import settings\n"
        "print(json.dumps({name: getattr(settings, name) for name in sys.argv[1:]}, default=str))"
    )
    kept = {"PATH": os.environ["PATH"], "DEALSITE_VAR": str(var)}
    done = subprocess.run(
        [sys.executable, "-c", code, *names],
        cwd=ROOT,
        env=kept | environ,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict = json.loads(done.stdout)
    return found


def test_the_secret_key_is_made_once_and_for_its_owner_alone(tmp_path):
    key = environment.secret_key(tmp_path / "var")
    assert len(key) >= 64
    assert environment.secret_key(tmp_path / "var") == key
    assert stat.S_IMODE((tmp_path / "var" / "secret_key").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "var").stat().st_mode) == 0o700
    assert [path.name for path in (tmp_path / "var").iterdir()] == ["secret_key"]


def test_processes_that_start_at_once_agree_on_the_secret_key(tmp_path):
    keys: list[str] = []
    barrier = threading.Barrier(8)

    def start() -> None:
        barrier.wait()
        keys.append(environment.secret_key(tmp_path))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 8
    assert len(set(keys)) == 1


def test_a_secret_key_of_the_environment_leaves_no_file(tmp_path):
    assert settings_with(tmp_path, "SECRET_KEY", DEALSITE_SECRET_KEY="given") == {"SECRET_KEY": "given"}
    assert list(tmp_path.iterdir()) == []


def test_an_own_engine_is_used_where_nothing_names_another_dynamodb(monkeypatch, subtests):
    for engine, endpoint_url, table, credentials, own in [
        ("", "", "", "", True),
        ("", "", "deals", "", True),
        ("", "", "", "AWS_ACCESS_KEY_ID", True),
        ("", "", "deals", "AWS_ACCESS_KEY_ID", False),
        ("", "", "deals", "AWS_PROFILE", False),
        ("", "http://127.0.0.1:4566", "", "", False),
        ("amazon", "", "", "", False),
        ("embedded", "", "deals", "AWS_PROFILE", True),
        ("embedded", "http://127.0.0.1:4566", "", "", True),
    ]:
        with (
            subtests.test(engine=engine, table=table, credentials=credentials),
            monkeypatch.context() as patch,
        ):
            patch.setattr(os, "environ", {credentials: "x"})
            assert environment.uses_own_engine(engine, endpoint_url, table) is own


def test_manage_py_joins_the_engine_of_the_data_folder(tmp_path):
    environment.write_engine_env(tmp_path, "http://127.0.0.1:1234", "shop")
    found = settings_with(tmp_path, "DYNAMODB_ENDPOINT_URL", "DEALSITE_TABLE", "DEALSITE_EMBEDDED")
    assert found == {
        "DYNAMODB_ENDPOINT_URL": "http://127.0.0.1:1234",
        "DEALSITE_TABLE": "shop",
        "DEALSITE_EMBEDDED": True,
    }


def test_the_file_about_the_engine_names_the_command_as_it_is_called(tmp_path, monkeypatch):
    monkeypatch.setattr(environment, "COMMAND", "dealsite")
    environment.write_engine_env(tmp_path, "http://127.0.0.1:1234", "shop")
    assert "For other tools: dealsite engine_port" in (tmp_path / "engine.env").read_text()


def test_the_environment_goes_before_the_engine_of_the_data_folder(tmp_path):
    environment.write_engine_env(tmp_path, "http://127.0.0.1:1234", "shop")
    found = settings_with(
        tmp_path,
        "DYNAMODB_ENDPOINT_URL",
        "DEALSITE_TABLE",
        "DEALSITE_EMBEDDED",
        DEALSITE_TABLE="deals",
        AWS_ACCESS_KEY_ID="key",
    )
    assert found == {"DYNAMODB_ENDPOINT_URL": "", "DEALSITE_TABLE": "deals", "DEALSITE_EMBEDDED": False}


def test_before_the_engine_ever_ran_nothing_reaches_amazon(tmp_path):
    found = settings_with(tmp_path, "DYNAMODB_ENDPOINT_URL", "DEALSITE_EMBEDDED", AWS_ACCESS_KEY_ID="key")
    assert found == {"DYNAMODB_ENDPOINT_URL": "http://127.0.0.1:9", "DEALSITE_EMBEDDED": True}


def test_an_embedded_engine_is_never_another_address(tmp_path):
    found = settings_with(
        tmp_path,
        "DYNAMODB_ENDPOINT_URL",
        "DEALSITE_EMBEDDED",
        DEALSITE_ENGINE="embedded",
        DYNAMODB_ENDPOINT_URL="http://10.0.0.1:8000",
    )
    assert found == {"DYNAMODB_ENDPOINT_URL": "http://127.0.0.1:9", "DEALSITE_EMBEDDED": True}


def test_settings_are_safe_when_nothing_is_set(tmp_path):
    found = settings_with(
        tmp_path, "DEBUG", "ALLOWED_HOSTS", "CSRF_COOKIE_HTTPONLY", "DATABASES", "EMAIL_BACKEND"
    )
    assert found == {
        "DEBUG": False,
        "ALLOWED_HOSTS": ["127.0.0.1", "localhost", "[::1]"],
        "CSRF_COOKIE_HTTPONLY": True,
        "DATABASES": {},
        "EMAIL_BACKEND": "django.core.mail.backends.console.EmailBackend",
    }


def test_an_https_site_has_secure_cookies_and_says_so_to_browsers(tmp_path):
    names = (
        "SESSION_COOKIE_SECURE",
        "CSRF_COOKIE_SECURE",
        "SESSION_COOKIE_NAME",
        "SECURE_HSTS_SECONDS",
        "ALLOWED_HOSTS",
    )
    found = settings_with(tmp_path, *names, DEALSITE_URL="https://deals.example/")
    assert found == {
        "SESSION_COOKIE_SECURE": True,
        "CSRF_COOKIE_SECURE": True,
        "SESSION_COOKIE_NAME": "__Host-session",
        "SECURE_HSTS_SECONDS": 31_536_000,
        "ALLOWED_HOSTS": ["deals.example"],
    }


@pytest.mark.parametrize(("said", "included"), [("", False), ("yes", True)])
def test_subdomains_are_bound_to_https_only_if_the_operator_says_so(tmp_path, said, included):
    name = "SECURE_HSTS_INCLUDE_SUBDOMAINS"
    found = settings_with(tmp_path, name, DEALSITE_URL="https://deals.example", DEALSITE_HSTS_SUBDOMAINS=said)
    assert found == {name: included}


def test_two_sites_on_one_machine_do_not_share_cookies(tmp_path):
    names = ("SESSION_COOKIE_NAME", "CSRF_COOKIE_NAME")
    one, other = (settings_with(tmp_path, *names, PORT=port) for port in ("8000", "8001"))
    assert one == {"SESSION_COOKIE_NAME": "session-8000", "CSRF_COOKIE_NAME": "csrftoken-8000"}
    assert other == {"SESSION_COOKIE_NAME": "session-8001", "CSRF_COOKIE_NAME": "csrftoken-8001"}


def test_pictures_in_a_bucket_may_be_shown_from_there_alone(tmp_path):
    found = settings_with(
        tmp_path,
        "MEDIA_URL",
        "CONTENT_SECURITY_POLICY",
        "STORAGES",
        DEALSITE_MEDIA_BUCKET="pictures",
        DEALSITE_PRIVATE_BUCKET="private",
        DEALSITE_LAKE="s3://questions/lake",
        AWS_REGION="eu-west-1",
    )
    host = "https://pictures.s3.eu-west-1.amazonaws.com"
    assert found["MEDIA_URL"] == f"{host}/"
    assert found["CONTENT_SECURITY_POLICY"]["DIRECTIVES"]["img-src"] == ["'self'", host]
    backends = {found["STORAGES"][alias]["BACKEND"] for alias in ("default", "private", "lake")}
    assert backends == {"dealsite.buckets.bucket"}
    options = found["STORAGES"]["default"]["OPTIONS"]
    assert options["object_parameters"] == {"CacheControl": "public, max-age=31536000, immutable"}
    assert "default_acl" not in options  # who may read them is the bucket's to say


def test_forms_may_lead_to_the_gateways_page_only_where_it_is_the_gateway(tmp_path):
    for gateway, allowed in (("test", ["'self'"]), ("stripe", ["'self'", "https://checkout.stripe.com"])):
        found = settings_with(tmp_path, "CONTENT_SECURITY_POLICY", DEALSITE_GATEWAY=gateway)
        assert found["CONTENT_SECURITY_POLICY"]["DIRECTIVES"]["form-action"] == allowed


# Secrets in files, and keys that were in use before

SECRETS = {"DEALSITE_SECRET_KEY": "SECRET_KEY", "STRIPE_SECRET_KEY": "STRIPE_SECRET_KEY"}
SECRETS["DEALSITE_SMTP_PASSWORD"] = "EMAIL_HOST_PASSWORD"


def test_every_secret_can_stand_in_a_file(tmp_path):
    environ = {}
    for name in SECRETS:
        (tmp_path / name).write_text(f"of a file: {name}\n", "utf-8")
        environ[f"{name}_FILE"] = str(tmp_path / name)
    found = settings_with(tmp_path, *SECRETS.values(), **environ)
    assert found == {setting: f"of a file: {name}" for name, setting in SECRETS.items()}
    assert not (tmp_path / "secret_key").exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(None, "SMTP_PASSWORD_FILE cannot be read"), (b" \n", "an empty file"), (b"\xff", "cannot be read")],
)
def test_a_secret_whose_file_says_nothing_is_an_error_not_an_empty_secret(
    tmp_path, monkeypatch, content, sentence
):
    if content is not None:
        (tmp_path / "secret").write_bytes(content)
    monkeypatch.setenv("DEALSITE_SMTP_PASSWORD_FILE", str(tmp_path / "secret"))
    with pytest.raises(ImproperlyConfigured, match=sentence):
        VARIABLES["DEALSITE_SMTP_PASSWORD"].value()


def test_a_secret_said_twice_is_an_error_that_does_not_say_it(tmp_path, monkeypatch):
    (tmp_path / "secret").write_text("in the file")
    monkeypatch.setenv("DEALSITE_SMTP_PASSWORD", "in the environment")
    monkeypatch.setenv("DEALSITE_SMTP_PASSWORD_FILE", str(tmp_path / "secret"))
    with pytest.raises(ImproperlyConfigured, match="both set") as refused:
        VARIABLES["DEALSITE_SMTP_PASSWORD"].value()
    assert "in the" not in str(refused.value)


def test_earlier_keys_come_from_the_environment_a_file_or_the_data_folder(tmp_path):
    key = {"DEALSITE_SECRET_KEY": "new"}
    assert settings_with(tmp_path, "SECRET_KEY_FALLBACKS", **key) == {"SECRET_KEY_FALLBACKS": []}
    found = settings_with(
        tmp_path, "SECRET_KEY", "SECRET_KEY_FALLBACKS", **key, DEALSITE_SECRET_KEY_FALLBACKS="older oldest"
    )
    assert found == {"SECRET_KEY": "new", "SECRET_KEY_FALLBACKS": ["older", "oldest"]}
    (tmp_path / "keys").write_text("older\noldest\n")
    file = {"DEALSITE_SECRET_KEY_FALLBACKS_FILE": str(tmp_path / "keys")}
    assert settings_with(tmp_path, "SECRET_KEY_FALLBACKS", **key, **file)["SECRET_KEY_FALLBACKS"] == [
        "older",
        "oldest",
    ]


@pytest.fixture
def folder(tmp_path, settings):
    """A data folder whose key the site made."""
    settings.VAR = tmp_path
    environment.secret_key(tmp_path)
    return tmp_path


def test_rotate_key_makes_a_new_key_and_puts_the_one_before_first_among_the_earlier_ones(folder, capsys):
    keys = [environment.secret_key(folder)]
    for said in ("secret_key_fallbacks: 1.", "secret_key_fallbacks: 2."):
        call_command("rotate_key")
        assert said in capsys.readouterr().out
        key = environment.secret_key(folder)
        assert key not in keys
        assert environment.secret_key_fallbacks(folder) == keys
        keys.insert(0, key)
    assert (folder / "secret_key_fallbacks").read_text() == f"{keys[1]}\n{keys[2]}\n"
    assert sorted(path.name for path in folder.iterdir()) == ["secret_key", "secret_key_fallbacks"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_a_rotation_that_ended_in_between_is_done_again(folder):
    key = environment.secret_key(folder)
    (folder / "secret_key_fallbacks").write_text(f"{key}\nolder\n")
    assert environment.rotate_secret_key(folder) == 2
    assert environment.secret_key_fallbacks(folder) == [key, "older"]


@pytest.mark.parametrize(
    ("given", "key", "why"),
    [
        ("DEALSITE_SECRET_KEY", "key", "DEALSITE_SECRET_KEY is set"),
        ("DEALSITE_SECRET_KEY_FALLBACKS", "key", "DEALSITE_SECRET_KEY_FALLBACKS is set"),
        ("NOTHING", "key\n", "has white space around its key"),
    ],
)
def test_a_key_that_would_be_no_fallback_is_not_rotated(folder, settings, given, key, why):
    (folder / "secret_key").write_text(key)
    setattr(settings, given, "of the environment")
    with pytest.raises(CommandError, match=why):
        call_command("rotate_key")
    assert [path.read_text() for path in folder.iterdir()] == [key]


# Mail


@pytest.mark.parametrize(
    ("environ", "backend", "sends"),
    [
        ({}, "console", True),
        ({"DEALSITE_URL": "http://localhost:8000"}, "console", True),
        ({"DEALSITE_URL": "https://deals.example"}, "dummy", False),
        ({"DEALSITE_URL": "http://deals.example"}, "dummy", False),
        ({"DEALSITE_URL": "https://deals.example", "DEALSITE_SMTP_HOST": "mail.example"}, "smtp", True),
        ({"DEALSITE_SMTP_HOST": "mail.example"}, "smtp", True),
    ],
)
def test_mails_are_printed_on_loopback_only(tmp_path, environ, backend, sends):
    found = settings_with(tmp_path, "EMAIL_BACKEND", "DEALSITE_SENDS_MAIL", **environ)
    expected = f"django.core.mail.backends.{backend}.EmailBackend"
    assert found == {"EMAIL_BACKEND": expected, "DEALSITE_SENDS_MAIL": sends}


def test_a_public_site_without_a_mail_server_is_refused_by_the_check(settings):
    settings.DEALSITE_SENDS_MAIL = False
    ids = [message.id for message in run_checks(include_deployment_checks=True)]
    assert "dealsite.no_mail" in ids
    settings.DEALSITE_SENDS_MAIL = True
    assert "dealsite.no_mail" not in [m.id for m in run_checks(include_deployment_checks=True)]
