"""What WSGI calls a request (PEP 3333), made of uvicorn's."""

import io
import sys
from typing import Any
from urllib.parse import unquote_to_bytes

from uvicorn._types import HTTPScope

UNPREFIXED = {"CONTENT_TYPE", "CONTENT_LENGTH"}


def environ_of(scope: HTTPScope) -> dict[str, Any]:
    """Return the environ of a request without its body.

    A header whose name has an underscore is left out: it would pass for the one with a dash that a proxy sets.
    """
    server = scope["server"] or ("localhost", 80)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1]),
        "REMOTE_ADDR": scope["client"][0] if scope["client"] else "",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for raw_name, raw_value in scope["headers"]:
        if b"_" in raw_name:
            continue
        name = raw_name.decode("latin-1").upper().replace("-", "_")
        if name not in UNPREFIXED:
            name = f"HTTP_{name}"
        value = raw_value.decode("latin-1")
        if name in environ:
            value = f"{environ[name]}{'; ' if name == 'HTTP_COOKIE' else ','}{value}"
        environ[name] = value
    return environ
