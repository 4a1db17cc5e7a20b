"""How often each part of the site was started again since the launcher started: a file in the data folder.

{"engine": {"restarts": 2, "ended": "SIGKILL"}, ...}: `ended` is how it ended last, "" if it never did.
"""

import contextlib
import json
from collections.abc import Iterable
from pathlib import Path

from dealsite.engine.supervisor import Supervisor
from dealsite.processes.whole_files import write_whole

FILE = "parts.json"


def note(var: Path, supervisors: Iterable[Supervisor]) -> None:
    """Write what has become of the parts; a full disk keeps no site from running."""
    found = {one.name: {"restarts": one.restarts, "ended": one.ended} for one in supervisors}
    with contextlib.suppress(OSError):
        write_whole(var / FILE, json.dumps(found).encode())
