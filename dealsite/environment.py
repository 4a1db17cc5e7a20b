"""What settings.py finds out for itself: the hosts of an address, the engine, and the keys in the data folder."""

import errno
import getpass
import os
import secrets
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from dealsite.engine.programs import DATABASE
from dealsite.home import COMMAND

ENGINE_ENV = "engine.env"
CREDENTIALS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_PROFILE",
    "AWS_ROLE_ARN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
# Where an engine that never ran is looked for. Nothing listens there; an empty address would mean Amazon.
NOWHERE = "http://127.0.0.1:9"
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")


def hosts_of(site_url: str) -> list[str]:
    """The Host headers to accept: the site's own; on loopback every name of it."""
    host = urlsplit(site_url).hostname or ""
    if ":" in host:
        host = f"[{host}]"
    return list(LOOPBACK_HOSTS) if host in LOOPBACK_HOSTS else [host]


def is_loopback(site_url: str) -> bool:
    """Whether only this machine reaches the site under its address."""
    return hosts_of(site_url) == list(LOOPBACK_HOSTS)


def read_engine_env(var: Path) -> dict[str, str]:
    """NAME=value lines of the data folder's engine.env; empty when no engine was started there."""
    try:
        lines = (var / ENGINE_ENV).read_text("utf-8", "replace").splitlines()  # damaged, it names no engine
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ImproperlyConfigured(why_unusable(var, error)) from None
    pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith("#"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def uses_own_engine(engine: str, endpoint_url: str, table: str) -> bool:
    """Whether nothing names another DynamoDB: no endpoint, and not both AWS credentials and a table.

    DEALSITE_ENGINE says it outright (embedded or amazon), as for credentials that no variable shows.
    """
    if engine or endpoint_url:
        return engine == "embedded"
    return not (table and any(os.environ.get(name) for name in CREDENTIALS))


def write_engine_env(var: Path, endpoint_url: str, table: str) -> None:
    """Say in the data folder where its engine is, so that manage.py can join in; for its owner's eyes only."""
    text = (
        f"# Where this data folder's engine is while the site runs. For other tools: {COMMAND} engine_port\n"
        f"DYNAMODB_ENDPOINT_URL={endpoint_url}\nDEALSITE_TABLE={table}\n"
    )
    _written_aside(var / ENGINE_ENV, text).replace(var / ENGINE_ENV)


def why_unusable(var: Path, error: OSError) -> str:
    """Say that the data folder cannot be used, why, and what to do about it."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk of the data folder {var} is full. Free some space on it, and start again."
    return (
        f"The data folder {var} cannot be used: {error}. Let the user {getpass.getuser()} write to it,"
        " or name another one with DEALSITE_VAR."
    )


def unwritable(var: Path) -> str:
    """Say why nothing can be written to the data folder, or to where it would be made; "" if something can."""
    there = next(folder for folder in (var, *var.parents) if folder.exists())
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        return ""
    code = errno.EROFS if there.is_dir() and os.statvfs(there).f_flag & os.ST_RDONLY else errno.EACCES
    code = code if there.is_dir() else errno.ENOTDIR
    return why_unusable(var, OSError(code, os.strerror(code)))


def _damaged_key(path: Path, state: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(
        f"{path} {state}. Restore it from a backup. Without it nobody signs in with a second factor, and"
        f" links in mails end; to begin with a new key all the same: touch {path}_fallbacks; rm -f {path}"
    )


def secret_key(var: Path) -> str:
    """The key made once and kept in the data folder for its owner's eyes only."""
    path = var / "secret_key"
    try:
        if not path.exists():
            is_used = any((var / name).exists() for name in DATABASE.values())
            if is_used and not (var / "secret_key_fallbacks").exists():
                raise _damaged_key(path, "is missing, although this data folder was in use")
            _make_secret_key(path)
        key = path.read_text("ascii")
    except UnicodeDecodeError:
        key = ""
    except OSError as error:
        raise ImproperlyConfigured(why_unusable(var, error)) from None
    if not key.strip() or not key.strip().isprintable():
        raise _damaged_key(path, "is empty or damaged")
    return key


def _make_secret_key(path: Path) -> None:
    """Make a key aside and link it: of two processes that start at once, both read the same one."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = _written_aside(path, secrets.token_urlsafe(64))
    try:
        os.link(made, path)
    except FileExistsError:
        pass
    finally:
        made.unlink()


def _written_aside(path: Path, text: str) -> Path:
    """Return a new file beside another one, for its owner's eyes only (0600 by mkstemp), that is safely on the disk."""
    handle, made = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return Path(made)


def rotate_secret_key(var: Path) -> int:
    """Make a new key for a data folder, and the one before the first of its fallbacks; return how many those are.

    Ended in between it has lost nothing: the key in use is a fallback then, too.
    """
    for name in ("DEALSITE_SECRET_KEY", "DEALSITE_SECRET_KEY_FALLBACKS"):
        if getattr(settings, name):
            raise ImproperlyConfigured(f"{name} is set, and goes before its file in {var}.")
    path, key = var / "secret_key", secret_key(var)
    if key != key.strip():
        raise ImproperlyConfigured(f"{path} has white space around its key, which a fallback cannot have.")
    earlier = [key, *(one for one in secret_key_fallbacks(var) if one != key)]
    fallbacks = var / "secret_key_fallbacks"
    _written_aside(fallbacks, "".join(f"{one}\n" for one in earlier)).replace(fallbacks)
    _written_aside(path, secrets.token_urlsafe(64)).replace(path)
    return len(earlier)


def secret_key_fallbacks(var: Path) -> list[str]:
    """Keys of the data folder that were in use before, whose signatures stay good."""
    path = var / "secret_key_fallbacks"
    try:
        return path.read_text("ascii").split()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(f"{path} cannot be read: {error}. Restore it from a backup.") from None
