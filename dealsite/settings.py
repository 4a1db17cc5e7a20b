"""Django's settings, and the site's own, whose meaning is in setting_chart.py: safe by default."""

import os
from email.utils import formataddr
from pathlib import Path
from urllib.parse import urlsplit

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from dealsite import environment, home
from dealsite.environment import value
from dealsite.web import log_lines

BASE_DIR = home.HOME
environment.refuse_misfits()
VAR: Path = value("DEALSITE_VAR", home.WORK / "var")
BUILD = BASE_DIR / "build"

DEBUG = value("DEALSITE_DEBUG")
SECRET_KEY = environment.secret_key(VAR)
SECRET_KEY_FALLBACKS = environment.secret_key_fallbacks(VAR)

# -- The table -------------------------------------------------------------------------------------------------
# When nothing names another DynamoDB, join the engine of the data folder: the only one that demo content goes into.
DEALSITE_EMBEDDED = environment.uses_own_engine(os.environ)
_engine = environment.read_engine_env(VAR) if DEALSITE_EMBEDDED else {}
DYNAMODB_ENDPOINT_URL = (
    _engine.get("DYNAMODB_ENDPOINT_URL", environment.NOWHERE)
    if DEALSITE_EMBEDDED
    else value("DYNAMODB_ENDPOINT_URL")
)
DEALSITE_TABLE = value("DEALSITE_TABLE", _engine.get("DEALSITE_TABLE", "dealsite"))
DEALSITE_REGION = value("AWS_REGION", os.environ.get("AWS_DEFAULT_REGION") or "eu-central-1")
DATABASES: dict[str, dict[str, str]] = {}

# -- What is made of the table's stream ---------------------------------------------------------------------------
DEALSITE_LAKE = value("DEALSITE_LAKE")
DEALSITE_PROJECTIONS = value("DEALSITE_PROJECTIONS")

# -- Data over the years -------------------------------------------------------------------------------------------
DEALSITE_BACKUPS: Path = value("DEALSITE_BACKUPS", VAR / "backups")
DEALSITE_NIGHTLY_BACKUPS = value("DEALSITE_NIGHTLY_BACKUPS")
DEALSITE_RETENTION = value("DEALSITE_RETENTION")

# -- The site --------------------------------------------------------------------------------------------------
PORT = value("PORT")
DEALSITE_URL = value("DEALSITE_URL", f"http://127.0.0.1:{PORT}")
DEALSITE_NAME = value("DEALSITE_NAME")
DEALSITE_CURRENCY = value("DEALSITE_CURRENCY")
DEALSITE_TIME_ZONE = value("DEALSITE_TIME_ZONE")  # of the times shown; stored times are UTC
DEALSITE_PAGE_CACHE_SECONDS = value("DEALSITE_PAGE_CACHE_SECONDS")
DEALSITE_STALE_SECONDS = value("DEALSITE_STALE_SECONDS")
DEALSITE_TRUSTED_PROXIES = value("DEALSITE_TRUSTED_PROXIES")
DEALSITE_CLIENT_SECONDS = value("DEALSITE_CLIENT_SECONDS")
DEALSITE_CONNECTIONS_PER_ADDRESS = value("DEALSITE_CONNECTIONS_PER_ADDRESS")
DEALSITE_CONNECTIONS = value("DEALSITE_CONNECTIONS")
DEALSITE_DRAIN_SECONDS = value("DEALSITE_DRAIN_SECONDS")
HTTPS = DEALSITE_URL.startswith("https://")
ALLOWED_HOSTS = [*environment.hosts_of(DEALSITE_URL), *value("DEALSITE_HOSTS")]
CSRF_TRUSTED_ORIGINS = [DEALSITE_URL]
DEALSITE_SECURITY_CONTACT = value("DEALSITE_SECURITY_CONTACT")

DEALSITE_CHECK_LINKS = value("DEALSITE_CHECK_LINKS", HTTPS)
DEALSITE_NIGHTLY_CHECK = value("DEALSITE_NIGHTLY_CHECK")
DEALSITE_CLOSE_DAY = value("DEALSITE_CLOSE_DAY")

DEALSITE_HEALTH_TOKEN = value("DEALSITE_HEALTH_TOKEN")
DEALSITE_FREE_DISK_MB = value("DEALSITE_FREE_DISK_MB")
DEALSITE_METRICS_PORT = value("DEALSITE_METRICS_PORT")

ROOT_URLCONF = "dealsite.urls"
WSGI_APPLICATION = "dealsite.wsgi.application"
APPEND_SLASH = True
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000_000  # forms without their files; a file is spooled to disk
DATA_UPLOAD_MAX_NUMBER_FIELDS = 3_000  # a table of refused rows of an import has most
DATA_UPLOAD_MAX_NUMBER_FILES = 2

INSTALLED_APPS = [
    "dealsite.web.builds.StaticFiles",
    "django.contrib.messages",
    "django_htmx",
    "csp",
    "dealsite",
    "cms",
    "shopping",
]

MIDDLEWARE = [
    "dealsite.middleware.RequestIdMiddleware",
    "dealsite.middleware.BrowserHeadersMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "dealsite.web.builds.StaticFilesMiddleware",
    "dealsite.middleware.MeterMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "dealsite.middleware.ErrorsMiddleware",
    "dealsite.middleware.SlashMiddleware",
    "dealsite.middleware.BodyMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "dealsite.accounts.middleware.AccountMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "dealsite.web.closed_site.ClosedSiteMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,  # caches compiled templates unless DEBUG
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.messages.context_processors.messages",
                "dealsite.context.site",
            ],
        },
    }
]
MESSAGE_STORAGE = "dealsite.web.page_cache.MessageCookie"

# What the site speaks to visitors, and to users who chose no language. docs/translating.md says how to add one.
LANGUAGES = [("en-gb", "English"), ("de", "Deutsch")]
LANGUAGE_CODE = value("DEALSITE_LANGUAGE")
LOCALE_PATHS = [BUILD / "locale"]  # compiled by build_assets from what locale/ holds
FORMAT_MODULE_PATH = ["dealsite.formats"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

# -- Accounts --------------------------------------------------------------------------------------------------
PASSWORD_HASHERS = ["dealsite.accounts.passwords.Argon2id"]
_VALIDATORS = "django.contrib.auth.password_validation"
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": f"{_VALIDATORS}.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ("username", "name", "email")},
    },
    {"NAME": f"{_VALIDATORS}.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "dealsite.accounts.passwords.NotGuessable"},
]
PASSWORD_RESET_TIMEOUT = 3600
DEALSITE_REQUIRE_TWO_FACTOR = value("DEALSITE_REQUIRE_TWO_FACTOR", HTTPS)

DEALSITE_ALARM_FAILURES = value("DEALSITE_ALARM_FAILURES")
DEALSITE_ALARM_MAIL = value("DEALSITE_ALARM_MAIL")

DEALSITE_LIMITS = value("DEALSITE_LIMITS")

# -- Payments: the built-in test gateway moves no money, so a public site has to say that it wants it ------------------
DEALSITE_GATEWAY = value("DEALSITE_GATEWAY", "" if HTTPS else "test")  # or stripe
STRIPE_SECRET_KEY = value("STRIPE_SECRET_KEY")
STRIPE_API_BASE = value("STRIPE_API_BASE")

# -- Mail ---------------------------------------------------------------------------------------------------------
EMAIL_HOST = value("DEALSITE_SMTP_HOST")
EMAIL_PORT = value("DEALSITE_SMTP_PORT")
EMAIL_HOST_USER = value("DEALSITE_SMTP_USER")
EMAIL_HOST_PASSWORD = value("DEALSITE_SMTP_PASSWORD")
EMAIL_USE_TLS = value("DEALSITE_SMTP_STARTTLS", EMAIL_PORT == 587)
EMAIL_USE_SSL = EMAIL_PORT == 465
if EMAIL_USE_TLS and EMAIL_USE_SSL:
    raise ImproperlyConfigured(
        "DEALSITE_SMTP_STARTTLS should be no with port 465, which is encrypted from the start."
    )
EMAIL_TIMEOUT = 5
# Without a server a site on loopback prints its mails; one that others can reach sends none: they hold links.
DEALSITE_SENDS_MAIL = bool(EMAIL_HOST) or environment.is_loopback(DEALSITE_URL)
_mail = "smtp" if EMAIL_HOST else "console" if DEALSITE_SENDS_MAIL else "dummy"
EMAIL_BACKEND = f"django.core.mail.backends.{_mail}.EmailBackend"
DEFAULT_FROM_EMAIL = value("DEALSITE_MAIL_FROM", formataddr((DEALSITE_NAME, "noreply@localhost")))

# -- Files: what is built (static) and what editors upload (media) -----------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = BUILD / "static"
# Our own files, and what build_assets makes and copies: compiled CSS, icons, fonts, installed scripts.
STATICFILES_DIRS = [folder for folder in (BASE_DIR / "static", BUILD / "assets") if folder.is_dir()]
# Of several builds: what a page names that another build made.
DEALSITE_STATIC_FOLDER = value("DEALSITE_STATIC_FOLDER", VAR / "static")
MEDIA_URL = "/media/"
MEDIA_ROOT = VAR / "media"
SEARCH_ROOT = VAR / "search"  # the index of deals, made from the table's stream; it can be made again
FILE_UPLOAD_MAX_MEMORY_SIZE = 1_000_000
WHITENOISE_USE_FINDERS = DEBUG
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_ALLOW_ALL_ORIGINS = False

DEALSITE_MEDIA_BUCKET = value("DEALSITE_MEDIA_BUCKET")
_MEDIA_STORAGE: dict[str, object] = {"BACKEND": "django.core.files.storage.FileSystemStorage"}
if DEALSITE_MEDIA_BUCKET:
    _amazons = f"{DEALSITE_MEDIA_BUCKET}.s3.{DEALSITE_REGION}.amazonaws.com"
    _media_host = value("DEALSITE_MEDIA_HOST", _amazons)
    MEDIA_URL = f"https://{_media_host}/"
    _MEDIA_STORAGE = {
        "BACKEND": "storages.backends.s3.S3Storage",
        "OPTIONS": {
            "bucket_name": DEALSITE_MEDIA_BUCKET,
            "region_name": DEALSITE_REGION,
            "custom_domain": _media_host,
            "querystring_auth": False,
            "file_overwrite": False,
            "object_parameters": {"CacheControl": "public, max-age=31536000, immutable"},
        },
    }
# Files of orders and payments, which the back office fetches through the site: nothing else serves them.
DEALSITE_PRIVATE_BUCKET = value("DEALSITE_PRIVATE_BUCKET")
_PRIVATE_STORAGE: dict[str, object] = {
    "BACKEND": "django.core.files.storage.FileSystemStorage",
    "OPTIONS": {
        "location": VAR / "private",
        "allow_overwrite": True,
        "file_permissions_mode": 0o600,
        "directory_permissions_mode": 0o700,
    },
}
if DEALSITE_PRIVATE_BUCKET:
    _PRIVATE_STORAGE = {
        "BACKEND": "storages.backends.s3.S3Storage",
        "OPTIONS": {"bucket_name": DEALSITE_PRIVATE_BUCKET, "region_name": DEALSITE_REGION},
    }
STORAGES = {
    "default": _MEDIA_STORAGE,
    "private": _PRIVATE_STORAGE,
    "staticfiles": {"BACKEND": "dealsite.web.builds.HashedFiles"},
}

# -- What a browser may do ---------------------------------------------------------------------------------------
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF] if not DEALSITE_MEDIA_BUCKET else [SELF, f"https://{urlsplit(MEDIA_URL).netloc}"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "manifest-src": [SELF],
        # Where a form may lead in the end: a browser follows its redirect to the gateway's page for cards, too.
        "form-action": [SELF] if DEALSITE_GATEWAY != "stripe" else [SELF, "https://checkout.stripe.com"],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
        "object-src": [NONE],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "strict-origin-when-cross-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
# On loopback the site speaks plain http, where browsers would drop Secure cookies.
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
# What else runs under the domain is not this site's to decide, so whoever runs it says so.
SECURE_HSTS_INCLUDE_SUBDOMAINS = value("DEALSITE_HSTS_SUBDOMAINS")
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS and DEALSITE_TRUSTED_PROXIES else None
SECURE_SSL_REDIRECT = HTTPS and DEALSITE_TRUSTED_PROXIES > 0
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SESSION_COOKIE_NAME = "__Host-session" if HTTPS else f"session-{PORT}"  # browsers share cookies between ports
SESSION_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_NAME = "__Host-csrftoken" if HTTPS else f"csrftoken-{PORT}"
CSRF_COOKIE_SECURE = HTTPS
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "dealsite.accounts.security_log.csrf_failure"

SILENCED_SYSTEM_CHECKS = [
    "security.W004",  # HSTS and the redirect to https follow DEALSITE_URL
    "security.W008",
    "security.W005",  # DEALSITE_HSTS_SUBDOMAINS says it
    "security.W021",
    *value("DEALSITE_ACCEPTED_RISKS"),  # ids of dealsite/checks.py
]

_log_format = value("DEALSITE_LOG_FORMAT", log_lines.usual_format())
_log_level = value("DEALSITE_LOG_LEVEL")
_work = {"level": log_lines.level_of_work(_log_level)}
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": log_lines.formatter(_log_format)},
    "filters": {"request": {"()": "dealsite.web.request_log.RequestFilter"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain", "filters": ["request"]}},
    "root": {"handlers": ["console"], "level": _log_level},
    "loggers": {
        "dealsite.stream": _work,
        "dealsite.worker": _work,
        "django.request": {"level": "ERROR"},  # a page that does not exist is nobody's fault
        "django.security.DisallowedHost": {"level": "CRITICAL"},  # scanners ask for anything
        "django.server": {"level": "WARNING"},
        "botocore": {"level": "WARNING"},
        "urllib3.connectionpool": {
            "level": "ERROR"
        },  # more requests than connections for a moment is no news
    },
}
log_lines.configure_events(_log_format)
