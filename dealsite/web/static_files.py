"""Which of the files in static/ are sources, and never served."""

from django.contrib.staticfiles.apps import StaticFilesConfig


class StaticFiles(StaticFilesConfig):
    """Leaves out what build_assets compiles into something else."""

    ignore_patterns = [*StaticFilesConfig.ignore_patterns, "css", "icons.txt"]
