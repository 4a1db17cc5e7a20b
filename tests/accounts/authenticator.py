"""A passkey in Python: signs as a browser and its authenticator would, and wrongly on request."""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40
SITE = "http://localhost:8000"


class Authenticator:
    """Holds one key of one user; `count` is how often it has signed, 0 for one that does not count."""

    def __init__(self, *, credential: bytes = b"a credential's id", counts: bool = False) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.credential, self.counts, self.count, self.handle = credential, counts, 0, b""

    def make(self, options: str, *, origin: str = SITE, verified: bool = True, rp_id: str = "") -> str:
        """Answer what a page asks for a new passkey."""
        asked = json.loads(options)
        self.handle = base64url_to_bytes(asked["user"]["id"])
        numbers = self.key.public_key().public_numbers()
        public_key = cbor2.dumps(
            {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
        )
        data = self._data(rp_id or asked["rp"]["id"], ATTESTED | (VERIFIED if verified else 0))
        data += bytes(16) + struct.pack(">H", len(self.credential)) + self.credential + public_key
        response = {
            "clientDataJSON": _client_data("webauthn.create", asked["challenge"], origin),
            "attestationObject": bytes_to_base64url(
                cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
            ),
        }
        return self._answer(response)

    def sign(
        self,
        options: str,
        *,
        origin: str = SITE,
        rp_id: str = "",
        verified: bool = True,
        handle: bytes | None = None,
        kind: str = "webauthn.get",
    ) -> str:
        """Answer what a page asks to be signed."""
        asked = json.loads(options)
        self.count += self.counts
        data = self._data(rp_id or asked["rpId"], VERIFIED if verified else 0)
        client_data = _client_data(kind, asked["challenge"], origin)
        digest = hashlib.sha256(base64url_to_bytes(client_data)).digest()
        response = {
            "clientDataJSON": client_data,
            "authenticatorData": bytes_to_base64url(data),
            "signature": bytes_to_base64url(self.key.sign(data + digest, ec.ECDSA(hashes.SHA256()))),
            "userHandle": bytes_to_base64url(self.handle if handle is None else handle),
        }
        return self._answer(response)

    def _data(self, rp_id: str, flags: int) -> bytes:
        return hashlib.sha256(rp_id.encode()).digest() + struct.pack(">BI", PRESENT | flags, self.count)

    def _answer(self, response: dict[str, Any]) -> str:
        name = bytes_to_base64url(self.credential)
        return json.dumps({"id": name, "rawId": name, "type": "public-key", "response": response})


def _client_data(kind: str, challenge: str, origin: str) -> str:
    said = {"type": kind, "challenge": challenge, "origin": origin, "crossOrigin": False}
    return bytes_to_base64url(json.dumps(said).encode())
