"""An engine beside the site's own, on a folder of its own, that this process talks to for a while."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from django.utils.translation import gettext

from dealsite import data
from dealsite.data import table
from dealsite.engine.programs import kind_for
from dealsite.engine.server import Engine


@contextlib.contextmanager
def engine_aside(folder: Path) -> Iterator[None]:
    """Run an engine on a folder, and let all calls of this process go to it. Only for commands, which have one thread.

    The tables have the names that they have in the settings.
    """
    with Engine(folder, kind_for(folder)) as engine:
        url = engine.url
        table.configure(lambda: data.configuration()._replace(endpoint_url=url), translate=gettext)
        table.reset()
        try:
            yield
        finally:
            table.configure(data.configuration, translate=gettext)
            table.reset()
