from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from storages.backends.s3 import S3Storage

from dealsite.management.command import SiteCommand
from dealsite.variables import bucket_place
from dealsite.web import builds


class Command(SiteCommand):
    help = "Adds this build's static files to a bucket from which /static/ is served, and prunes those of old builds."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("place", help="where, such as s3://bucket/static")

    def work(self, place: str) -> str:
        try:
            parts = urlsplit(bucket_place(place))
        except ValueError as wanted:
            raise CommandError(f"The place should be {wanted}.") from None
        bucket = S3Storage(
            bucket_name=parts.netloc,
            location=parts.path.lstrip("/"),
            region_name=settings.DEALSITE_REGION,
            querystring_auth=False,
            object_parameters={"CacheControl": "public, max-age=31536000, immutable"},
        )
        builds.keep(settings.STATIC_ROOT, bucket, now=timezone.now())
        return f"Published the static files of this build to {place}."
