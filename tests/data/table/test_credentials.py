"""Credentials that cannot be read are an error of ours, not of a library's."""

import pytest

from dealsite.data import table
from dealsite.data.table import errors


@pytest.mark.parametrize(
    ("environ", "code"),
    [
        ({"AWS_ACCESS_KEY_ID": "half"}, "PartialCredentialsError"),
        ({"AWS_PROFILE": "nobodys"}, "ProfileNotFound"),
    ],
    ids=["half a key", "no such profile"],
)
@pytest.mark.parametrize(
    "ask", [lambda: table.get(("A", "A")), lambda: table.call("ListTables")], ids=["get", "call"]
)
def test_credentials_that_cannot_be_read_are_an_error_of_ours(monkeypatch, settings, environ, code, ask):
    table.reset()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    settings.DYNAMODB_ENDPOINT_URL = ""
    with pytest.raises(errors.Misconfigured) as refused:
        ask()
    assert code in f"{refused.value.reason}"
    table.reset()
