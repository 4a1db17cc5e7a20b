"""A stand-in for the few parts of Stripe's HTTP API that the site uses, as Stripe documents them."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

DECLINES = {"pm_declined": ("card_declined", "Your card was declined.")}


class StripeStandIn:
    """Serves on a free port of this machine; `requests` are those that came: method, path, parameters."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.intents: dict[str, dict[str, Any]] = {}
        self.refunds: dict[str, list[dict[str, Any]]] = {}  # by intent
        self.sessions: dict[str, dict[str, Any]] = {}
        self.kept: dict[str, tuple[str, int, dict[str, Any]]] = {}
        self.slow: list[float] = []  # seconds by which the next answers are late, though all is done by then
        self.broken: list[int] = []  # status codes with which the next requests are refused
        self.processing = 0  # how many charges are still under way when they are answered
        self.lock = threading.Lock()

    def __enter__(self) -> Self:
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                self.answer("GET", urlsplit(self.path).query)

            def do_POST(self) -> None:
                self.answer("POST", self.rfile.read(int(self.headers.get("Content-Length", 0))).decode())

            def answer(self, method: str, query: str) -> None:
                parameters = {name: values[0] for name, values in parse_qs(query).items()}
                path = urlsplit(self.path).path
                key = self.headers.get("Idempotency-Key", "")
                authorised = self.headers.get("Authorization") == "Bearer sk_test_x"
                status, body = stand_in.handle(method, path, parameters, key, authorised=authorised)
                content = json.dumps(body).encode()
                if stand_in.slow:
                    time.sleep(stand_in.slow.pop(0))
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)
                except OSError:
                    self.close_connection = True  # whoever asked has gone

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def handle(
        self, method: str, path: str, parameters: dict[str, str], key: str, *, authorised: bool
    ) -> tuple[int, dict[str, Any]]:
        with self.lock:
            self.requests.append((method, path, parameters))
            if not authorised:
                return 401, _error("invalid_request_error", message="Invalid API Key provided")
            if self.broken:
                status = self.broken.pop(0)
                return status, _error("api_error" if status >= 500 else "rate_limit")
            if key in self.kept:
                said, status, body = self.kept[key]
                if said != json.dumps(parameters):
                    return 400, _error("idempotency_error")
                return status, body
            status, body = self._do(method, path, parameters)
            if key:
                self.kept[key] = json.dumps(parameters), status, json.loads(json.dumps(body))
            if body.get("object") == "payment_intent" and body["status"] == "processing":
                self.intents[body["id"]]["status"] = "succeeded"
            return status, body

    def _do(self, method: str, path: str, parameters: dict[str, str]) -> tuple[int, dict[str, Any]]:
        match method, path.removeprefix("/v1/").split("/"):
            case "POST", ["payment_intents"]:
                return self._charge(parameters)
            case "GET", ["payment_intents"]:
                return self._list(parameters)
            case "GET", ["payment_intents", intent]:
                return 200, self.intents[intent]
            case "GET", ["refunds"]:
                made = self.refunds.get(parameters["payment_intent"], [])
                return 200, {"object": "list", "url": "/v1/refunds", "data": made, "has_more": False}
            case "POST", ["refunds"]:
                return self._refund(parameters)
            case "POST", ["checkout", "sessions"]:
                name = f"cs_test_{len(self.sessions)}"
                self.sessions[name] = {"id": name, "object": "checkout.session", "status": "open"} | {
                    "client_reference_id": parameters["client_reference_id"],
                    "url": f"{self.url}/pay/{name}",
                    "customer": None,
                    "setup_intent": None,
                    "success_url": parameters["success_url"],
                }
                return 200, self.sessions[name]
            case "GET", ["checkout", "sessions", session] if session in self.sessions:
                return 200, self.sessions[session]
        return 404, _error("invalid_request_error", code="resource_missing")

    def _charge(self, parameters: dict[str, str]) -> tuple[int, dict[str, Any]]:
        method = parameters["payment_method"]
        if parameters["customer"] != "cus_1":
            return 400, _error("invalid_request_error", code="resource_missing", message="No such customer")
        name = f"pi_{len(self.intents)}"
        intent = {
            "id": name,
            "object": "payment_intent",
            "status": "requires_payment_method" if method in DECLINES else "succeeded",
            "amount": int(parameters["amount"]),
            "currency": parameters["currency"],
            "metadata": {"key": parameters["metadata[key]"]},
        }
        self.intents[name] = intent
        if method in DECLINES:
            code, message = DECLINES[method]
            return 402, _error("card_error", code=code, message=message)
        if self.processing:
            self.processing -= 1
            return 200, intent | {"status": "processing"}
        return 200, intent

    def _list(self, parameters: dict[str, str]) -> tuple[int, dict[str, Any]]:
        newest = list(reversed(self.intents.values()))
        names = [intent["id"] for intent in newest]
        start = names.index(parameters["starting_after"]) + 1 if "starting_after" in parameters else 0
        page = newest[start : start + 2]
        more = start + 2 < len(newest)
        return 200, {"object": "list", "url": "/v1/payment_intents", "data": page, "has_more": more}

    def _refund(self, parameters: dict[str, str]) -> tuple[int, dict[str, Any]]:
        intent, amount = parameters["payment_intent"], int(parameters["amount"])
        if intent not in self.intents:
            return 404, _error("invalid_request_error", code="resource_missing")
        there = self.refunds.setdefault(intent, [])
        left = self.intents[intent]["amount"] - sum(one["amount"] for one in there)
        if not left:
            return 400, _error("invalid_request_error", code="charge_already_refunded")
        if amount > left:
            return 400, _error("invalid_request_error", message="It is greater than what is left.")
        made = {
            "id": f"re_{len(there)}_{intent}",
            "object": "refund",
            "status": "succeeded",
            "amount": amount,
        }
        there.append(made | {"metadata": {"key": parameters["metadata[key]"]}})
        return 200, there[-1]

    def enter_card(self, session: str) -> None:
        """What the owner of a card does on Stripe's page."""
        self.sessions[session] |= {
            "status": "complete",
            "customer": "cus_1",
            "setup_intent": {
                "id": "seti_1",
                "object": "setup_intent",
                "payment_method": {
                    "id": "pm_card",
                    "object": "payment_method",
                    "card": {"brand": "american_express", "last4": "0005"},
                },
            },
        }


def _error(kind: str, *, code: str = "", message: str = "Something is wrong.") -> dict[str, Any]:
    return {"error": {"type": kind, "code": code, "message": message}}
