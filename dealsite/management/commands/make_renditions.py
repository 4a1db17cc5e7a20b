from collections.abc import Iterator

from django.core.files.storage import default_storage

from dealsite.management.command import SiteCommand
from dealsite.pictures import encoding, renditions, uploads


class Command(SiteCommand):
    help = (
        "Make the AVIF and WebP files of every stored picture that lacks them. The worker does so by itself for each "
        "picture that editors bring. Safe while the site runs, and to be stopped and run again at any time."
    )

    def work(self) -> str:
        made = sum(renditions.make(name) for name in _names())
        return self.style.SUCCESS(f"Made the files of {made:,} pictures.")


def _names() -> Iterator[str]:
    """Yield the names of all stored pictures whose files are not all there; delete marks of other widths."""
    ending = uploads.file_name("", encoding.WIDTHS[-1])
    for folder in _folders():
        files = set(default_storage.listdir(f"pictures/{folder}")[1])
        for file in sorted(files):
            if file.endswith(".made") and not file.endswith(renditions.MARK):
                default_storage.delete(f"pictures/{folder}/{file}")
            name = file.removesuffix(ending)
            if name != file and renditions.made_name(name) not in files:
                yield f"pictures/{folder}/{name}"


def _folders() -> list[str]:
    try:
        return sorted(default_storage.listdir("pictures")[0])
    except FileNotFoundError:  # there is no picture yet
        return []
