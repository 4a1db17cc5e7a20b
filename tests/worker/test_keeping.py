"""The command and the worker apply spans, and say what came of it."""

import pytest
from django.core.management import CommandError, call_command

from dealsite.data import table
from dealsite.data.integrity import retention
from dealsite.data.people import messages
from dealsite.data.table import client
from dealsite.data.table.errors import Unavailable, VersionConflict
from tests.builders import NOW, make_id

pytestmark = pytest.mark.usefixtures("fresh_table")


@pytest.fixture(autouse=True)
def _as_patient_as_before(monkeypatch):
    """The command makes this process wait longer for answers: not beyond a test."""
    monkeypatch.setattr(client, "READ_TIMEOUT", client.READ_TIMEOUT)


def test_the_command_says_how_many_items_it_changed(capsys):
    item = messages.message_item("ada", make_id(NOW), kind="hot_deal", headline="Look", deal="")
    del item["ttl"]
    table.insert([item])
    call_command("apply_retention")
    assert capsys.readouterr().out == "1 items go at another time now, 0 old drafts went to the trash.\n"


@pytest.mark.parametrize(
    ("error", "said"), [(VersionConflict(), "Another process is at it."), (Unavailable(), "cannot reach")]
)
def test_the_command_says_why_it_could_not(monkeypatch, error, said):
    def fail(**_):
        raise error

    monkeypatch.setattr(retention, "apply", fail)
    with pytest.raises(CommandError, match=said):
        call_command("apply_retention")
