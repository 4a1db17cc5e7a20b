"""Credentials that cannot be read are an error of ours, not of a library's."""

from typing import Any

import boto3
import pytest
from botocore.exceptions import CredentialRetrievalError

from dealsite.data import table
from dealsite.data.table import client, errors
from dealsite.data.table.amazon import Amazon
from dealsite.data.table.writes import Put


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


class Expired:
    def get_frozen_credentials(self) -> Any:
        raise CredentialRetrievalError(provider="a role", error_msg="not now")


def test_credentials_that_cannot_be_renewed_keep_a_request_from_leaving(monkeypatch, settings):
    table.reset()
    settings.DYNAMODB_ENDPOINT_URL = ""
    monkeypatch.setattr(boto3.Session, "get_credentials", lambda session: Expired())
    monkeypatch.setattr(client, "pause", lambda seconds: None)
    with pytest.raises(errors.Unavailable) as refused:
        table.write(Put(key=("A", "A"), item={}))
    assert type(refused.value) is errors.Unavailable  # and nobody wonders whether it was done
    assert "not now" in f"{refused.value.reason}"
    table.reset()


def test_services_are_where_boto3_says(monkeypatch):
    amazon = Amazon("", "eu-central-1")
    assert amazon.url("dynamodb") == "https://dynamodb.eu-central-1.amazonaws.com"
    assert amazon.url("dynamodbstreams") == "https://streams.dynamodb.eu-central-1.amazonaws.com"
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "https://elsewhere.example")
    assert Amazon("", "eu-central-1").url("dynamodb") == "https://elsewhere.example"
    assert Amazon("https://given.example", "eu-central-1").url("dynamodb") == "https://given.example"
