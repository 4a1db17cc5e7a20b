"""A request is signed as botocore would sign it."""

from __future__ import annotations

import hmac
import random
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore import auth, awsrequest
from botocore.credentials import Credentials as TheirCredentials

from dealsite.data import table
from dealsite.data.table import connection
from dealsite.data.table.connection import CONTENT_TYPE, Credentials, Service, Signer
from tests.data.table.wire import COST, ITEM, Wire, whole

CHANCE = random.Random(7)
MOMENTS = [0.0, 951_782_400.0, 1_795_262_399.9, 1_795_262_400.0, 4_102_444_799.0]
ENDPOINTS = {
    "https://dynamodb.eu-central-1.amazonaws.com": "dynamodb.eu-central-1.amazonaws.com",
    "http://127.0.0.1:8000": "127.0.0.1:8000",
    "https://proxy.example:444/to the/table~": "proxy.example:444",
    "http://[::1]:8000/": "[::1]:8000",
}


def theirs(
    url: str, who: Credentials, region: str, target: str, body: bytes, now: float, monkeypatch: Any
) -> dict[str, str]:
    """Return the headers that botocore would send."""
    moment = datetime.fromtimestamp(now, UTC).replace(tzinfo=None)
    monkeypatch.setattr(auth, "get_current_datetime", lambda remove_tzinfo=True: moment)
    headers = {"X-Amz-Target": target, "Content-Type": CONTENT_TYPE}
    request = awsrequest.AWSRequest(method="POST", url=url, data=body, headers=headers)
    auth.SigV4Auth(TheirCredentials(*who), "dynamodb", region).add_auth(request)
    return {name.lower(): value for name, value in request.headers.items()}


@pytest.mark.parametrize("endpoint_url", ENDPOINTS)
@pytest.mark.parametrize("now", MOMENTS)
def test_a_signature_is_botocores(endpoint_url: str, now: float, monkeypatch: pytest.MonkeyPatch):
    service, signer = Service(endpoint_url), Signer("eu-central-1")
    assert service.host == ENDPOINTS[endpoint_url]
    for token in (None, "a-token/+="):
        for _ in range(3):
            who = Credentials(f"AKIA{CHANCE.getrandbits(60):X}", f"{CHANCE.getrandbits(200):x}/+", token)
            body, target = CHANCE.randbytes(CHANCE.randrange(500)), "DynamoDB_20120810.GetItem"
            made = signer.sign(who, service.host, service.path, target, body, now=now)
            url = f"{endpoint_url.partition('://')[0]}://{service.host}{service.path}"
            should_be = theirs(url, who, "eu-central-1", target, body, now, monkeypatch)
            assert made == {"host": service.host} | should_be


def test_what_a_key_is_derived_from_is_never_anothers():
    """A new day, new credentials, and back."""
    signer, one, other = Signer("eu-central-1"), Credentials("A", "one"), Credentials("A", "other")

    def signed(who: Credentials, now: float, signer: Signer = signer) -> str:
        return signer.sign(who, "host", "/", "target", b"{}", now=now)["authorization"]

    for who, now in [(one, 0.0), (other, 0.0), (one, 0.0), (one, 90_000.0), (one, 0.0)]:
        assert signed(who, now) == signed(who, now, Signer("eu-central-1"))


class Renewed:
    """Credentials that are others each time, or cannot be had."""

    def __init__(self) -> None:
        self.number = 0

    def get_frozen_credentials(self) -> Any:
        self.number += 1
        return Credentials(f"KEY{self.number}", "secret", f"token{self.number}")


def test_credentials_are_those_of_now(wire: Wire, monkeypatch: pytest.MonkeyPatch):
    wire.say = lambda operation, body: whole({"Item": ITEM, "ConsumedCapacity": COST})
    monkeypatch.setattr(connection, "on_this_machine", lambda endpoint_url: False)
    renewed, seen, sign = Renewed(), [], Signer.sign
    monkeypatch.setattr(boto3.Session, "get_credentials", lambda session: renewed)

    def note(self: Signer, who: Credentials, *given: Any, now: float) -> dict[str, str]:
        seen.append(who.access_key)
        return sign(self, who, *given, now=now)

    monkeypatch.setattr(Signer, "sign", note)
    table.reset()
    assert table.get(("A", "A"))
    assert table.get(("A", "A"))
    assert seen == ["KEY1", "KEY2"]


def test_a_days_key_is_derived_once(monkeypatch: pytest.MonkeyPatch):
    derived: list[bytes] = []
    digest = hmac.digest

    def note(key: bytes, text: bytes, name: str) -> bytes:
        derived.append(text)
        return digest(key, text, name)

    monkeypatch.setattr(hmac, "digest", note)
    signer = Signer("eu-central-1")
    for _ in range(10):
        signer.sign(Credentials("A", "secret"), "host", "/", "target", b"{}", now=0.0)
    assert len(derived) == 4 + 10
