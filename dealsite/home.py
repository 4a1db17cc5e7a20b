"""Where the site's own files are: templates, what is built, and the engine."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RELEASE = ROOT / "dealsite" / "release"  # in a wheel; it holds what a site needs of the folders of a checkout
HOME = RELEASE if RELEASE.is_dir() else ROOT
# Where the parts of a site work: what they were started from may be removed while they run.
PARTS = Path("/") if HOME == RELEASE else ROOT
# How messages call what they ask for: the command, and setting up the engine.
COMMAND = "dealsite" if HOME == RELEASE else "manage.py"
SET_UP = "Install the wheel that holds the engine" if HOME == RELEASE else "Run make setup"
# Where the data folder is by default: beside the code, or where an installed site is started.
WORK = Path.cwd() if RELEASE.is_dir() else ROOT
