"""Django's settings, and the site's own, safe by default.

Each variable of the environment is declared and read here, once; docs/settings.md is made of these lines and of the
comments before or behind them.
"""

import os
from email.utils import formataddr

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from dealsite import environment, home, retention_chart, variables as kinds
from dealsite.accounts import limit_table
from dealsite.variables import env
from dealsite.web import log_lines

# -- The site -----------------------------------------------------------------------------------------------------
PORT = env("PORT", kinds.port, 8000)  # where the site listens
VAR = env("DEALSITE_VAR", kinds.folder, home.WORK / "var")  # the data folder. Default: `var`
# the public address, for links in mails and feeds; https turns secure cookies on. Default: `http://127.0.0.1:PORT`
DEALSITE_URL = env("DEALSITE_URL", kinds.url, f"http://127.0.0.1:{PORT}")
HTTPS = DEALSITE_URL.startswith("https://")
DEALSITE_NAME = env("DEALSITE_NAME", str, "Dealsite")  # the site's name
# the currency of all prices, by its ISO 4217 code
DEALSITE_CURRENCY = env("DEALSITE_CURRENCY", kinds.currency, "EUR")
# the time zone of visitors, and of users who have not chosen one
DEALSITE_TIME_ZONE = env("DEALSITE_TIME_ZONE", kinds.time_zone, "UTC")
# `en-gb` or `de`: the language of visitors, and of users who have not chosen one
LANGUAGE_CODE = env("DEALSITE_LANGUAGE", kinds.one_of("en-gb", "de"), "en-gb")
# loads the demo content into an engine of its own. Default: yes; a site with https never loads it
DEALSITE_DEMO = env("DEALSITE_DEMO", kinds.flag, True)
# once a week, a worker checks whether the shops' pages still exist. Default: yes for a site with https, else no
DEALSITE_CHECK_LINKS = env("DEALSITE_CHECK_LINKS", kinds.flag, HTTPS)
# each night, a worker [checks the table](operations.md#checking-the-table), or a sample of a large one
DEALSITE_NIGHTLY_CHECK = env("DEALSITE_NIGHTLY_CHECK", kinds.flag, True)
# each night, a worker makes a [snapshot](operations.md#snapshots) of the table for questions
DEALSITE_NIGHTLY_SNAPSHOT = env("DEALSITE_NIGHTLY_SNAPSHOT", kinds.flag, True)
# each night, a worker moves the payments processed until midnight (UTC) to the history
DEALSITE_CLOSE_DAY = env("DEALSITE_CLOSE_DAY", kinds.flag, True)
# for how many seconds a page is cached for visitors who are not signed in
DEALSITE_PAGE_CACHE_SECONDS = env("DEALSITE_PAGE_CACHE_SECONDS", kinds.number, 2)
# how old a public page may be that [stands in](reliability.md#pages-while-the-table-is-away) while the table is away;
# 0 for none. Takes up to 32 MB in each web process
DEALSITE_STALE_SECONDS = env("DEALSITE_STALE_SECONDS", kinds.number, 300)
DEBUG = env("DEALSITE_DEBUG", kinds.flag, False)  # shows errors with their code; never on a public site

# -- What stands in front -----------------------------------------------------------------------------------------
DEALSITE_HOSTS = env("DEALSITE_HOSTS", kinds.hosts)  # more host names to answer to, separated by spaces
# with https: browsers are to use https for all names below this one, too; only if all of them can
SECURE_HSTS_INCLUDE_SUBDOMAINS = env("DEALSITE_HSTS_SUBDOMAINS", kinds.flag, False)
# how many proxies in front add to X-Forwarded-For
DEALSITE_TRUSTED_PROXIES = env("DEALSITE_TRUSTED_PROXIES", kinds.number, 0)
# how long a silent or slow client is waited for, see [operations](operations.md#silent-slow-and-many-clients)
DEALSITE_CLIENT_SECONDS = env("DEALSITE_CLIENT_SECONDS", kinds.positive, 10)
# how many connections of one address a web process takes; 0 for any number
DEALSITE_CONNECTIONS_PER_ADDRESS = env("DEALSITE_CONNECTIONS_PER_ADDRESS", kinds.number, 100)
# how long a site that was told to end still takes visitors while `/readyz` says 503: as long as a load balancer needs
# to notice
DEALSITE_DRAIN_SECONDS = env("DEALSITE_DRAIN_SECONDS", kinds.number, 0)
DEALSITE_CONNECTIONS = env("DEALSITE_CONNECTIONS", kinds.positive, 1000)  # how many it takes in all

# -- Secrets and limits -------------------------------------------------------------------------------------------
# signs cookies and links, encrypts the secrets of two-factor sign-in ([more](operations.md#the-secret-key)).
# Default: made once, kept in the data folder
DEALSITE_SECRET_KEY = env("DEALSITE_SECRET_KEY", str, is_secret=True)
# keys that were in use before, separated by spaces. Default: `secret_key_fallbacks` in the data folder
DEALSITE_SECRET_KEY_FALLBACKS = env("DEALSITE_SECRET_KEY_FALLBACKS", str.split, is_secret=True)
# everybody with a role has to set up two-factor sign-in before they can use the CMS. Default: yes with https, else no
DEALSITE_REQUIRE_TWO_FACTOR = env("DEALSITE_REQUIRE_TWO_FACTOR", kinds.flag, HTTPS)
# other [limits](operations.md#limits), as `search=60/1m sign-up-total=200/1d`
DEALSITE_LIMITS = env("DEALSITE_LIMITS", limit_table.read)
# so many failed tries within ten minutes raise an [alarm](operations.md#the-security-log); 0 for none
DEALSITE_ALARM_FAILURES = env("DEALSITE_ALARM_FAILURES", kinds.number, 100)
# who gets a mail then, and when the [check of a night](operations.md#checking-the-table) leaves problems: addresses,
# separated by spaces
DEALSITE_ALARM_MAIL = env("DEALSITE_ALARM_MAIL", kinds.mails)
# where to report security problems, as `mailto:security@deals.example` or `https://...`; shown in
# `/.well-known/security.txt`
DEALSITE_SECURITY_CONTACT = env("DEALSITE_SECURITY_CONTACT", kinds.contact, "")
# findings of `check --deploy` to leave out, by their ids, separated by spaces
DEALSITE_ACCEPTED_RISKS = env("DEALSITE_ACCEPTED_RISKS", str.split)

# -- Seeing it ----------------------------------------------------------------------------------------------------
# DEBUG, INFO, WARNING or ERROR
DEALSITE_LOG_LEVEL = env("DEALSITE_LOG_LEVEL", kinds.one_of("DEBUG", "INFO", "WARNING", "ERROR"), "INFO")
# `text` or `json`, see [logs](operations.md#logs). Default: text at a terminal, else json
DEALSITE_LOG_FORMAT = env("DEALSITE_LOG_FORMAT", kinds.one_of("text", "json"), log_lines.usual_format())
# shows [`/metrics`](operations.md#metrics) and the details of [`/readyz`](operations.md#readyz) to who sends it.
# Default: none
DEALSITE_HEALTH_TOKEN = env("DEALSITE_HEALTH_TOKEN", str, is_secret=True)
# a worker answers [`/metrics`](operations.md#metrics) here, too: for machines without web processes. Default: none
DEALSITE_METRICS_PORT = env("DEALSITE_METRICS_PORT", kinds.port, 0)
# with fewer megabytes free on a disk, `/readyz` answers 503; 0 for never
DEALSITE_FREE_DISK_MB = env("DEALSITE_FREE_DISK_MB", kinds.number, 200)

# -- The table, and what is made of it ----------------------------------------------------------------------------
# `embedded` or `amazon`. Default: found out
DEALSITE_ENGINE = env("DEALSITE_ENGINE", kinds.one_of("embedded", "amazon"), "")
DEALSITE_TABLE = env("DEALSITE_TABLE", str)  # the table's name. Default: dealsite
# a DynamoDB other than Amazon's. Default: none
DYNAMODB_ENDPOINT_URL = env("DYNAMODB_ENDPOINT_URL", kinds.endpoint, "")
# the region of the table and the buckets; credentials come from where every AWS tool finds them.
# Default: `AWS_DEFAULT_REGION`, else eu-central-1
DEALSITE_REGION = env("AWS_REGION", str, os.environ.get("AWS_DEFAULT_REGION") or "eu-central-1")
# a place in S3 for snapshots of the table, as `s3://bucket/prefix`; without it they are in the worker's data folder,
# which the web server must share
DEALSITE_LAKE = env("DEALSITE_LAKE", kinds.bucket_place, "")

# -- Data over the years ------------------------------------------------------------------------------------------
# where `manage.py backup` writes its archives, and `restore --check` finds the newest.
# Default: `backups` in the data folder
DEALSITE_BACKUPS = env("DEALSITE_BACKUPS", kinds.folder, VAR / "backups")
# each night, a worker [backs up](operations.md#backup) to `DEALSITE_BACKUPS` and keeps so many archives; 0 for none
DEALSITE_NIGHTLY_BACKUPS = env("DEALSITE_NIGHTLY_BACKUPS", kinds.number, 0)
# other [spans](operations.md#how-long-things-are-kept), as `messages=30d audit=never`
DEALSITE_RETENTION = env("DEALSITE_RETENTION", retention_chart.read)

# -- Pictures and files -------------------------------------------------------------------------------------------
# where the static files of several builds are kept; hosts behind one address should share it.
# Default: `static` in the data folder
DEALSITE_STATIC_FOLDER = env("DEALSITE_STATIC_FOLDER", kinds.folder, VAR / "static")
# the S3 bucket for pictures; without it they are in the data folder
DEALSITE_MEDIA_BUCKET = env("DEALSITE_MEDIA_BUCKET", str)
# the host from which browsers load them. Default: the bucket's own
DEALSITE_MEDIA_HOST = env(
    "DEALSITE_MEDIA_HOST", kinds.host, f"{DEALSITE_MEDIA_BUCKET}.s3.{DEALSITE_REGION}.amazonaws.com"
)
# the private S3 bucket for the back office's files, where machines share the search index, too; without it both are in
# the worker's data folder, which the web server must share
DEALSITE_PRIVATE_BUCKET = env("DEALSITE_PRIVATE_BUCKET", str)
# an [OpenSearch](operations.md#opensearch) that keeps the search index, for machines that it does not fit on
DEALSITE_OPENSEARCH_URL = env("DEALSITE_OPENSEARCH_URL", kinds.url, "")
DEALSITE_OPENSEARCH_USER = env("DEALSITE_OPENSEARCH_USER", str)  # who signs in there. Default: nobody
# their password. Default: none
DEALSITE_OPENSEARCH_PASSWORD = env("DEALSITE_OPENSEARCH_PASSWORD", str, is_secret=True)

# -- Payments -----------------------------------------------------------------------------------------------------
# the payment gateway: `stripe`, or `test`, which moves no money. Default: test; none for a site with https
DEALSITE_GATEWAY = env("DEALSITE_GATEWAY", kinds.one_of("test", "stripe"), "" if HTTPS else "test")
STRIPE_SECRET_KEY = env("STRIPE_SECRET_KEY", str, is_secret=True)  # for `stripe`. Default: none
STRIPE_API_BASE = env("STRIPE_API_BASE", kinds.url, "https://api.stripe.com")  # where Stripe answers
# what has to be paid before an order is shipped without a question: `first-paid`, its first instalment; `all-paid`; or
# `ordered`, nothing
DEALSITE_SHIP_WHEN = env(
    "DEALSITE_SHIP_WHEN", kinds.one_of("first-paid", "all-paid", "ordered"), "first-paid"
)
# how many days after the last try to charge its first instalment an order of which nothing is paid is cancelled;
# 0: never
DEALSITE_UNPAID_DAYS = env("DEALSITE_UNPAID_DAYS", kinds.number, 7)
# whether shoppers can cancel what is not shipped yet of their orders
DEALSITE_SHOPPERS_CANCEL = env("DEALSITE_SHOPPERS_CANCEL", kinds.flag, True)
# how many days after a parcel was delivered, or shipped if nobody noted that, its shopper can ask to return something
# of the order; 0: never
DEALSITE_RETURN_DAYS = env("DEALSITE_RETURN_DAYS", kinds.number, 30)
# the most that an order may come to that is paid in instalments; 0: none is
DEALSITE_CREDIT_ORDER = env("DEALSITE_CREDIT_ORDER", kinds.number, 5_000)
# the most that somebody may have to pay in all, an order in instalments included
DEALSITE_CREDIT_OPEN = env("DEALSITE_CREDIT_OPEN", kinds.number, 10_000)
# how many failed payments somebody may have who pays in instalments
DEALSITE_CREDIT_FAILED = env("DEALSITE_CREDIT_FAILED", kinds.number, 0)
# whether they need a confirmed e-mail address
DEALSITE_CREDIT_CONFIRMED = env("DEALSITE_CREDIT_CONFIRMED", kinds.flag, True)
# how many days old their account has to be
DEALSITE_CREDIT_DAYS = env("DEALSITE_CREDIT_DAYS", kinds.number, 0)

# -- Mail ---------------------------------------------------------------------------------------------------------
# the mail server; without it a site on loopback prints its mails, and any other sends none
EMAIL_HOST = env("DEALSITE_SMTP_HOST", str)
EMAIL_PORT = env("DEALSITE_SMTP_PORT", kinds.port, 587)  # 465 uses TLS from the start
# whether the connection becomes encrypted after its start. Default: yes for port 587
EMAIL_USE_TLS = env("DEALSITE_SMTP_STARTTLS", kinds.flag, EMAIL_PORT == 587)
EMAIL_HOST_USER = env("DEALSITE_SMTP_USER", str)  # who signs in there. Default: nobody
EMAIL_HOST_PASSWORD = env("DEALSITE_SMTP_PASSWORD", str, is_secret=True)  # their password. Default: none
# the sender of mails. Default: the site's name and `noreply@localhost`
DEFAULT_FROM_EMAIL = env("DEALSITE_MAIL_FROM", kinds.sender, formataddr((DEALSITE_NAME, "noreply@localhost")))

# -- What follows from them, and Django's own -----------------------------------------------------------------------
kinds.refuse_misfits()
BASE_DIR = home.HOME
BUILD = BASE_DIR / "build"
SECRET_KEY = DEALSITE_SECRET_KEY or environment.secret_key(VAR)
SECRET_KEY_FALLBACKS = DEALSITE_SECRET_KEY_FALLBACKS or environment.secret_key_fallbacks(VAR)
# When nothing names another DynamoDB, join the engine of the data folder: the only one that demo content goes into.
DEALSITE_EMBEDDED = environment.uses_own_engine(DEALSITE_ENGINE, DYNAMODB_ENDPOINT_URL, DEALSITE_TABLE)
_engine = environment.read_engine_env(VAR) if DEALSITE_EMBEDDED else {}
if DEALSITE_EMBEDDED:
    DYNAMODB_ENDPOINT_URL = _engine.get("DYNAMODB_ENDPOINT_URL", environment.NOWHERE)
DEALSITE_TABLE = DEALSITE_TABLE or _engine.get("DEALSITE_TABLE", "dealsite")
DATABASES: dict[str, dict[str, str]] = {}
ALLOWED_HOSTS = [*environment.hosts_of(DEALSITE_URL), *DEALSITE_HOSTS]
CSRF_TRUSTED_ORIGINS = [DEALSITE_URL]

ROOT_URLCONF = "dealsite.urls"
WSGI_APPLICATION = "dealsite.wsgi.application"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000_000  # forms without their files; a file is spooled to disk
DATA_UPLOAD_MAX_NUMBER_FIELDS = 3_000  # a table of refused rows of an import has most
DATA_UPLOAD_MAX_NUMBER_FILES = 2

INSTALLED_APPS = [
    "dealsite.web.builds.StaticFiles",
    "django.contrib.messages",
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
    "dealsite.web.compression.CompressionMiddleware",
    "dealsite.middleware.MeterMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "dealsite.middleware.ErrorsMiddleware",
    "dealsite.middleware.SlashMiddleware",
    "dealsite.middleware.BodyMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "dealsite.accounts.decorators.AccountMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "dealsite.web.closed_site.ClosedSiteMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [
                ("django.template.loaders.cached.Loader", ["dealsite.web.compression.TemplateLoader"])
            ],
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
LOCALE_PATHS = [BUILD / "locale"]  # compiled by build_assets from what locale/ holds
FORMAT_MODULE_PATH = ["dealsite.formats"]
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

# -- How mails are sent -------------------------------------------------------------------------------------------
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

# -- Files: what is built (static) and what editors upload (media) -----------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = BUILD / "static"
# Our own files, and what build_assets makes and copies: compiled CSS, icons, fonts, installed scripts.
STATICFILES_DIRS = [folder for folder in (BASE_DIR / "static", BUILD / "assets") if folder.is_dir()]
MEDIA_URL = f"https://{DEALSITE_MEDIA_HOST}/" if DEALSITE_MEDIA_BUCKET else "/media/"
MEDIA_ROOT = VAR / "media"
SEARCH_ROOT = VAR / "search"  # the index of deals, made from the table's stream; it can be made again
FILE_UPLOAD_MAX_MEMORY_SIZE = 1_000_000
WHITENOISE_USE_FINDERS = DEBUG
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_ALLOW_ALL_ORIGINS = False
_BUCKET, _FOLDER = "dealsite.buckets.bucket", "django.core.files.storage.FileSystemStorage"
_media_bucket = {
    "bucket_name": DEALSITE_MEDIA_BUCKET,
    "region_name": DEALSITE_REGION,
    "custom_domain": DEALSITE_MEDIA_HOST,
    "querystring_auth": False,
    "file_overwrite": False,
    "object_parameters": {"CacheControl": "public, max-age=31536000, immutable"},
}
# Files of orders and payments, which the back office fetches through the site: nothing else serves them.
_private = {"location": VAR / "private", "allow_overwrite": True}
_private |= {"file_permissions_mode": 0o600, "directory_permissions_mode": 0o700}
STORAGES: dict[str, dict[str, object]] = {
    "default": {"BACKEND": _FOLDER},
    "private": {"BACKEND": _FOLDER, "OPTIONS": _private},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
if DEALSITE_MEDIA_BUCKET:
    STORAGES["default"] = {"BACKEND": _BUCKET, "OPTIONS": _media_bucket}
if DEALSITE_PRIVATE_BUCKET:
    _private = {"bucket_name": DEALSITE_PRIVATE_BUCKET, "region_name": DEALSITE_REGION}
    STORAGES["private"] = {"BACKEND": _BUCKET, "OPTIONS": _private}
if DEALSITE_LAKE:
    _name, _, _prefix = DEALSITE_LAKE.removeprefix("s3://").partition("/")
    _lake = {"bucket_name": _name, "location": _prefix, "region_name": DEALSITE_REGION}
    STORAGES["lake"] = {"BACKEND": _BUCKET, "OPTIONS": _lake}

# -- What a browser may do ---------------------------------------------------------------------------------------
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF] if not DEALSITE_MEDIA_BUCKET else [SELF, f"https://{DEALSITE_MEDIA_HOST}"],
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
CSRF_FAILURE_VIEW = "dealsite.web.closed_site.csrf_failure"

SILENCED_SYSTEM_CHECKS = [
    "security.W004",  # HSTS and the redirect to https follow DEALSITE_URL
    "security.W008",
    "security.W005",  # DEALSITE_HSTS_SUBDOMAINS says it
    "security.W021",
    *DEALSITE_ACCEPTED_RISKS,  # ids of dealsite/checks.py
]

_work = {"level": log_lines.level_of_work(DEALSITE_LOG_LEVEL)}
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": log_lines.formatter(DEALSITE_LOG_FORMAT)},
    "filters": {"request": {"()": "dealsite.web.counting.RequestFilter"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain", "filters": ["request"]}},
    "root": {"handlers": ["console"], "level": DEALSITE_LOG_LEVEL},
    "loggers": {
        "dealsite.stream": _work,
        "dealsite.worker": _work,
        "django.request": {"level": "ERROR"},  # a page that does not exist is nobody's fault
        "django.security.DisallowedHost": {"level": "CRITICAL"},  # scanners ask for anything
        "django.server": {"level": "WARNING"},
        "botocore": {"level": "WARNING"},
        # More requests than connections for a moment is no news.
        "urllib3.connectionpool": {"level": "ERROR"},
    },
}
log_lines.configure_events(DEALSITE_LOG_FORMAT)
