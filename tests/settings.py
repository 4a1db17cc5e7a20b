"""The project's settings for tests: never the data folder, nor the engine, of a site that runs here."""

import atexit
import os
import shutil
import tempfile

_var = tempfile.mkdtemp(prefix="dealsite-tests-")
atexit.register(shutil.rmtree, _var, ignore_errors=True)
for _name in [name for name in os.environ if name.startswith(("AWS_", "DEALSITE_", "DYNAMODB_"))]:
    if _name not in ("AWS_CA_BUNDLE",):
        del os.environ[_name]
os.environ["DEALSITE_VAR"] = _var
os.environ["DYNAMODB_ENDPOINT_URL"] = "http://127.0.0.1:9"  # nothing listens there: fixtures name a real one

os.environ["DEALSITE_LOG_FORMAT"] = "text"  # as tests read it

from dealsite.accounts import limit_table  # noqa: E402
from dealsite.settings import *  # noqa: E402, F403

DEALSITE_SECURITY_CONTACT = "mailto:security@deals.example"
DEALSITE_PAGE_CACHE_SECONDS = 0  # a page shows what a test has just done
# Tests work off in a second what takes a site longer.
DEALSITE_LIMITS = limit_table.read("mail-total=1000000/1s mail-order-total=1000000/1s probe-total=1000000/1s")
DEALSITE_STALE_SECONDS = 0  # and 503 what it could not read
WHITENOISE_AUTOREFRESH = (
    True  # static files are looked up when asked for: each client would list them all first
)
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.MD5PasswordHasher"
]  # what takes long is dealsite.settings' own
LOGGING["loggers"]["dealsite.web.counting"] = {"level": "WARNING"}  # type: ignore[index]  # noqa: F405 - tests of it ask for its lines
