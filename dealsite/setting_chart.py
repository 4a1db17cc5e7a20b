"""The setting chart: every variable of the environment that configures a site, declared once.

environment.py reads the variables by it, `manage.py check` names those that are none, and docs/settings.md shows it.
"""

from dataclasses import dataclass
from typing import Any

from dealsite import retention_chart
from dealsite import setting_kinds as kinds
from dealsite.accounts import limit_table
from dealsite.setting_kinds import Kind


@dataclass(frozen=True, slots=True)
class Setting:
    """One variable: how its text is read, what it means, and its value where it is not set or empty.

    `otherwise` says in words what that value is, where it depends on other things. A secret is never shown.
    """

    name: str
    kind: Kind
    meaning: str
    default: Any = ""
    otherwise: str = ""
    is_secret: bool = False


SECTIONS: dict[str, tuple[Setting, ...]] = {
    "The site": (
        Setting("PORT", kinds.port, "where the site listens", 8000),
        Setting("DEALSITE_VAR", kinds.folder, "the data folder", otherwise="`var`"),
        Setting(
            "DEALSITE_URL",
            kinds.url,
            "the public address, for links in mails and feeds; https turns secure cookies on",
            otherwise="`http://127.0.0.1:PORT`",
        ),
        Setting("DEALSITE_NAME", kinds.text, "the site's name", "Dealsite"),
        Setting(
            "DEALSITE_CURRENCY", kinds.currency, "the currency of all prices, by its ISO 4217 code", "EUR"
        ),
        Setting(
            "DEALSITE_TIME_ZONE",
            kinds.time_zone,
            "the time zone of visitors, and of users who have not chosen one",
            "UTC",
        ),
        Setting(
            "DEALSITE_LANGUAGE",
            kinds.one_of("en-gb", "de"),
            "`en-gb` or `de`: the language of visitors, and of users who have not chosen one",
            "en-gb",
        ),
        Setting(
            "DEALSITE_DEMO",
            kinds.flag,
            "loads the demo content into an engine of its own",
            True,
            "yes; a site with https never loads it",
        ),
        Setting(
            "DEALSITE_CHECK_LINKS",
            kinds.flag,
            "once a week, a worker checks whether the shops' pages still exist",
            otherwise="yes for a site with https, else no",
        ),
        Setting(
            "DEALSITE_NIGHTLY_CHECK",
            kinds.flag,
            "each night, a worker [checks the table](operations.md#checking-the-table), or a sample of a large one",
            True,
        ),
        Setting(
            "DEALSITE_CLOSE_DAY",
            kinds.flag,
            "each night, a worker moves the payments processed until midnight (UTC) to the history",
            True,
        ),
        Setting(
            "DEALSITE_PAGE_CACHE_SECONDS",
            kinds.number,
            "for how many seconds a page is cached for visitors who are not signed in",
            2,
        ),
        Setting(
            "DEALSITE_STALE_SECONDS",
            kinds.number,
            "how old a public page may be that [stands in](reliability.md#pages-while-the-table-is-away) while the"
            " table is away; 0 for none. Takes up to 32 MB in each web process",
            300,
        ),
        Setting("DEALSITE_DEBUG", kinds.flag, "shows errors with their code; never on a public site", False),
    ),
    "What stands in front": (
        Setting("DEALSITE_HOSTS", kinds.hosts, "more host names to answer to, separated by spaces", ()),
        Setting(
            "DEALSITE_HSTS_SUBDOMAINS",
            kinds.flag,
            "with https: browsers are to use https for all names below this one, too; only if all of them can",
            False,
        ),
        Setting(
            "DEALSITE_TRUSTED_PROXIES", kinds.number, "how many proxies in front add to X-Forwarded-For", 0
        ),
        Setting(
            "DEALSITE_CLIENT_SECONDS",
            kinds.number,
            "how long a silent or slow client is waited for, see"
            " [operations](operations.md#silent-slow-and-many-clients)",
            10,
        ),
        Setting(
            "DEALSITE_CONNECTIONS_PER_ADDRESS",
            kinds.number,
            "how many connections of one address a web process takes; 0 for any number",
            100,
        ),
        Setting(
            "DEALSITE_DRAIN_SECONDS",
            kinds.number,
            "how long a site that was told to end still takes visitors while `/readyz` says 503: as long as a load"
            " balancer needs to notice",
            0,
        ),
        Setting("DEALSITE_CONNECTIONS", kinds.number, "how many it takes in all", 1000),
    ),
    "Secrets and limits": (
        Setting(
            "DEALSITE_SECRET_KEY",
            kinds.text,
            "signs cookies and links, encrypts the secrets of two-factor sign-in"
            " ([more](operations.md#the-secret-key))",
            otherwise="made once, kept in the data folder",
            is_secret=True,
        ),
        Setting(
            "DEALSITE_SECRET_KEY_FALLBACKS",
            kinds.words,
            "keys that were in use before, separated by spaces",
            otherwise="`secret_key_fallbacks` in the data folder",
            is_secret=True,
        ),
        Setting(
            "DEALSITE_REQUIRE_TWO_FACTOR",
            kinds.flag,
            "everybody with a role has to set up two-factor sign-in before they can use the CMS",
            otherwise="yes with https, else no",
        ),
        Setting(
            "DEALSITE_LIMITS",
            limit_table.read,
            "other [limits](operations.md#limits), as `search=60/1m sign-up-total=200/1d`",
            limit_table.read(""),
        ),
        Setting(
            "DEALSITE_ALARM_FAILURES",
            kinds.number,
            "so many failed tries within ten minutes raise an [alarm](operations.md#the-security-log); 0 for none",
            100,
        ),
        Setting(
            "DEALSITE_ALARM_MAIL",
            kinds.mail_addresses,
            "who gets a mail then: addresses, separated by spaces",
            (),
        ),
        Setting(
            "DEALSITE_SECURITY_CONTACT",
            kinds.contact,
            "where to report security problems, as `mailto:security@deals.example` or `https://...`; shown in"
            " `/.well-known/security.txt`",
        ),
        Setting(
            "DEALSITE_ACCEPTED_RISKS",
            kinds.words,
            "findings of `check --deploy` to leave out, by their ids, separated by spaces",
            (),
        ),
    ),
    "Seeing it": (
        Setting(
            "DEALSITE_LOG_LEVEL",
            kinds.one_of("DEBUG", "INFO", "WARNING", "ERROR"),
            "DEBUG, INFO, WARNING or ERROR",
            "INFO",
        ),
        Setting(
            "DEALSITE_LOG_FORMAT",
            kinds.one_of("text", "json"),
            "`text` or `json`, see [logs](operations.md#logs)",
            otherwise="text at a terminal, else json",
        ),
        Setting(
            "DEALSITE_HEALTH_TOKEN",
            kinds.text,
            "shows [`/metrics`](operations.md#metrics) and the details of [`/readyz`](operations.md#readyz) to who"
            " sends it",
            otherwise="none",
            is_secret=True,
        ),
        Setting(
            "DEALSITE_METRICS_PORT",
            kinds.port,
            "a worker answers [`/metrics`](operations.md#metrics) here, too: for machines without web processes",
            otherwise="none",
        ),
        Setting(
            "DEALSITE_TRACES_URL",
            kinds.url,
            "the OpenTelemetry collector that gets [traces](operations.md#traces) by OTLP over HTTP, as"
            " `http://127.0.0.1:4318`",
            otherwise="none",
        ),
        Setting(
            "DEALSITE_FREE_DISK_MB",
            kinds.number,
            "with fewer megabytes free on a disk, `/readyz` answers 503; 0 for never",
            200,
        ),
    ),
    "The table, and what is made of it": (
        Setting(
            "DEALSITE_ENGINE",
            kinds.one_of("embedded", "amazon"),
            "`embedded` or `amazon`",
            otherwise="found out",
        ),
        Setting("DEALSITE_TABLE", kinds.text, "the table's name", otherwise="dealsite"),
        Setting("DYNAMODB_ENDPOINT_URL", kinds.endpoint, "a DynamoDB other than Amazon's", otherwise="none"),
        Setting(
            "AWS_REGION",
            kinds.text,
            "the region of the table and the buckets; credentials come from where every AWS tool finds them",
            otherwise="`AWS_DEFAULT_REGION`, else eu-central-1",
        ),
        Setting(
            "DEALSITE_HISTORY_TABLE",
            kinds.text,
            "a separate table for payments of closed days; without it they stay in the table",
        ),
        Setting(
            "DEALSITE_LAKE",
            kinds.bucket_place,
            "a place in S3 for the lake, as `s3://bucket/prefix`; without it the lake is in the data folder",
        ),
        Setting(
            "DEALSITE_PROJECTIONS",
            kinds.some_of("lake", "search"),
            "the projections that workers on this machine feed",
            ("lake", "search"),
        ),
    ),
    "Data over the years": (
        Setting(
            "DEALSITE_BACKUPS",
            kinds.folder,
            "where `manage.py backup` writes its archives, and `restore_drill` finds the newest",
            otherwise="`backups` in the data folder",
        ),
        Setting(
            "DEALSITE_NIGHTLY_BACKUPS",
            kinds.number,
            "each night, a worker [backs up](operations.md#backup) to `DEALSITE_BACKUPS` and keeps so many archives;"
            " 0 for none",
            0,
        ),
        Setting(
            "DEALSITE_DRILL",
            kinds.flag,
            "on the first of each month, a worker [tries the newest backup out](operations.md#a-drill)",
            False,
        ),
        Setting(
            "DEALSITE_RETENTION",
            retention_chart.read,
            "other [spans](operations.md#how-long-things-are-kept), as `messages=30d audit=never`",
            retention_chart.read(""),
        ),
    ),
    "Pictures and files": (
        Setting(
            "DEALSITE_STATIC_FOLDER",
            kinds.folder,
            "where the static files of several builds are kept; hosts behind one address should share it",
            otherwise="`static` in the data folder",
        ),
        Setting(
            "DEALSITE_MEDIA_BUCKET",
            kinds.text,
            "the S3 bucket for pictures; without it they are in the data folder",
        ),
        Setting(
            "DEALSITE_MEDIA_HOST",
            kinds.host,
            "the host from which browsers load them",
            otherwise="the bucket's own",
        ),
        Setting(
            "DEALSITE_PRIVATE_BUCKET",
            kinds.text,
            "the private S3 bucket for the back office's files; without it they are in the worker's data folder,"
            " which the web server must share",
        ),
    ),
    "Payments": (
        Setting(
            "DEALSITE_GATEWAY",
            kinds.one_of("test", "stripe"),
            "the payment gateway: `stripe`, or `test`, which moves no money",
            otherwise="test; none for a site with https",
        ),
        Setting("STRIPE_SECRET_KEY", kinds.text, "for `stripe`", otherwise="none", is_secret=True),
        Setting("STRIPE_API_BASE", kinds.url, "where Stripe answers", "https://api.stripe.com"),
    ),
    "Mail": (
        Setting(
            "DEALSITE_SMTP_HOST",
            kinds.text,
            "the mail server; without it a site on loopback prints its mails, and any other sends none",
        ),
        Setting("DEALSITE_SMTP_PORT", kinds.port, "465 uses TLS from the start", 587),
        Setting(
            "DEALSITE_SMTP_STARTTLS",
            kinds.flag,
            "whether the connection becomes encrypted after its start",
            otherwise="yes for port 587",
        ),
        Setting("DEALSITE_SMTP_USER", kinds.text, "who signs in there", otherwise="nobody"),
        Setting("DEALSITE_SMTP_PASSWORD", kinds.text, "their password", otherwise="none", is_secret=True),
        Setting(
            "DEALSITE_MAIL_FROM",
            kinds.sender,
            "the sender of mails",
            otherwise="the site's name and `noreply@localhost`",
        ),
    ),
}
SETTINGS = {one.name: one for section in SECTIONS.values() for one in section}
