"""The sections of the setting chart about what is stored and sent: the table, files, payments and mails."""

from dealsite import retention_chart
from dealsite import setting_kinds as kinds
from dealsite.setting_kinds import Setting

SECTIONS_OF_DATA: dict[str, tuple[Setting, ...]] = {
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
            "where `manage.py backup` writes its archives, and `restore --check` finds the newest",
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
