"""The setting chart: every variable of the environment that configures a site, declared once.

environment.py reads the variables by it, `manage.py check` names those that are none, and docs/settings.md shows it.
"""

from dealsite import setting_kinds as kinds
from dealsite.accounts import limit_table
from dealsite.setting_chart_of_data import SECTIONS_OF_DATA
from dealsite.setting_kinds import Setting

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
            kinds.positive,
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
        Setting("DEALSITE_CONNECTIONS", kinds.positive, "how many it takes in all", 1000),
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
            "who gets a mail then, and when the [check of a night](operations.md#checking-the-table) leaves problems: "
            "addresses, separated by spaces",
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
            "DEALSITE_FREE_DISK_MB",
            kinds.number,
            "with fewer megabytes free on a disk, `/readyz` answers 503; 0 for never",
            200,
        ),
    ),
    **SECTIONS_OF_DATA,
}
SETTINGS = {one.name: one for section in SECTIONS.values() for one in section}
