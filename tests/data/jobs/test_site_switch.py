"""The site's switch: what it says is known within seconds, and a table that is away changes nothing of that."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import brands
from dealsite.data.catalogue.brand_merges import rename_brand
from dealsite.data.editing import audit
from dealsite.data.entities.operations import SwitchState
from dealsite.data.integrity import checks
from dealsite.data.jobs import jobs, queue, site_switch
from dealsite.data.jobs.site_switch import KnownSwitch, SiteSwitch
from dealsite.data.table import meters
from dealsite.data.table.errors import Conflict, Unavailable
from dealsite.data.table.writes import Update
from tests.builders import EDITOR, NOW, Clock, make_announcement, make_brand, make_deal, make_id
from tests.measuring import measured

pytestmark = pytest.mark.usefixtures("whole_table")


@pytest.fixture
def turn() -> Callable[..., SiteSwitch]:
    """A function that turns the switch."""

    def to(state: SwitchState, message: str = "") -> SiteSwitch:
        return site_switch.switch_site(state, message=message, by=EDITOR, now=NOW)

    return to


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(site_switch, "clock", made := Clock())
    return made


def test_a_site_whose_switch_nobody_touched_is_open():
    assert measured(site_switch.read)() == SiteSwitch()
    assert site_switch.read().is_open


def test_turning_the_switch_is_in_the_audit_log_and_check_table_knows_it(turn, wait_for_indexes):
    turn("maintenance", "Back at noon.")
    assert site_switch.read() == SiteSwitch("maintenance", "Back at noon.", EDITOR, NOW)
    turn("open")
    assert site_switch.read().is_open
    wait_for_indexes()
    said = [(one.by, one.what, one.note) for one in audit.page(kind="site", subject="-").rows]
    assert sorted(said) == [(EDITOR, "closed for maintenance", "Back at noon."), (EDITOR, "opened", "")]
    assert checks.find() == []


def test_a_process_knows_what_another_one_did_two_seconds_later(turn, time):
    here = KnownSwitch()
    assert here.current().is_open
    turn("read-only")
    time.now += 1.9
    assert here.current().is_open
    time.now += 0.1
    assert here.current().state == "read-only"


@pytest.mark.budget
def test_it_is_read_once_in_two_seconds_and_no_page_pays_for_it(time, monkeypatch):
    read, reads = site_switch.read, list[int]()

    def counted() -> SiteSwitch:
        reads.append(1)
        return read()

    monkeypatch.setattr(site_switch, "read", counted)
    here = KnownSwitch()
    with table.metered() as meter:
        for _ in range(40):
            here.current()
            time.now += 0.1
    assert len(reads) == 2
    assert meter.calls == 0


def test_while_the_table_is_away_what_was_known_goes_on_and_is_seldom_asked_for(turn, time, monkeypatch):
    def away() -> SiteSwitch:
        asked.append(meters.seconds_left())
        raise Unavailable

    asked: list[float] = []
    turn("read-only")
    here = KnownSwitch()
    assert here.current().state == "read-only"
    monkeypatch.setattr(site_switch, "read", away)
    for _ in range(30):
        time.now += 0.1
        assert here.current().state == "read-only"
    assert len(asked) == 1
    assert asked[0] <= site_switch.CALL_SECONDS
    fresh = KnownSwitch()
    assert fresh.current().is_open  # else a process that starts meanwhile would close the site


def test_it_takes_no_more_than_what_a_page_has_left(time, monkeypatch):
    left: list[float] = []

    def noted() -> SiteSwitch:
        left.append(meters.seconds_left())
        return SiteSwitch()

    monkeypatch.setattr(site_switch, "read", noted)
    with table.deadline(0.05):
        KnownSwitch().current()
    assert left[0] <= 0.05


def test_nobody_waits_for_a_read_of_another_thread(time, monkeypatch):
    reading, go = threading.Event(), threading.Event()

    def slowly() -> SiteSwitch:
        reading.set()
        go.wait(10)
        return SiteSwitch("read-only")

    monkeypatch.setattr(site_switch, "read", slowly)
    here = KnownSwitch()
    here.keep(SiteSwitch())
    time.now += site_switch.SECONDS
    other = threading.Thread(target=here.current)
    other.start()
    assert reading.wait(10)
    assert here.current().is_open
    go.set()
    other.join()
    assert here.current().state == "read-only"


def test_while_the_site_is_not_open_messages_and_bulk_changes_rest_and_other_jobs_do_not(
    turn, wait_for_indexes
):
    message = make_announcement(make_deal().id, make_id(NOW))
    brand = brands.edit(make_brand(), name="Other", description="", logo=None, by=EDITOR, now=NOW)
    turn("read-only")
    wait_for_indexes()
    taken = jobs.take_next(now=NOW)
    assert taken is not None
    assert taken.id == brand.last_edit
    rename_brand(taken, NOW)
    jobs.finish(taken)
    assert jobs.take_next(now=NOW) is None
    assert jobs.get(message).tries == 0
    measured(site_switch.switch_site)("open", message="", by=EDITOR, now=NOW)
    wait_for_indexes()
    taken = jobs.take_next(now=NOW)
    assert taken is not None
    assert taken.id == message


def test_on_a_copy_no_job_is_taken_until_it_is_opened(turn, wait_for_indexes):
    brand = brands.edit(make_brand(), name="Other", description="", logo=None, by=EDITOR, now=NOW)
    turn("copy")
    wait_for_indexes()
    assert jobs.take_next(now=NOW) is None
    assert (queue.read(now=NOW).kinds[0].jobs["due"], jobs.get(brand.last_edit).tries) == (0, 0)
    turn("open")
    taken = jobs.take_next(now=NOW)
    assert taken is not None
    assert taken.id == brand.last_edit


def test_a_process_works_once_it_has_read_the_switch_and_not_on_a_copy(turn, time, monkeypatch):
    def away() -> SiteSwitch:
        raise Unavailable

    turn("copy")
    with monkeypatch.context() as broken:
        broken.setattr(site_switch, "read", away)
        here = KnownSwitch()
        assert not here.lets_work()  # it may be a copy, whose table is slow to begin with
    for state, works in (("copy", False), ("maintenance", True), ("open", True), ("copy", False)):
        turn(state)
        time.now += site_switch.SECONDS
        assert here.lets_work() is works


@pytest.mark.parametrize("save", [jobs.save_checkpoint, jobs.save_progress])
def test_one_that_runs_is_given_back_at_its_next_checkpoint(save, turn, wait_for_indexes):
    message = make_announcement(make_deal().id, make_id(NOW))
    wait_for_indexes()
    taken = jobs.take_next(now=NOW)
    assert taken is not None
    turn("maintenance")
    with pytest.raises(Conflict):
        save(taken, {"sent": 1}, now=NOW)
    assert jobs.get(message).taken_by == ""
    turn("open")
    wait_for_indexes()
    again = jobs.take_next(now=NOW)
    assert again is not None
    assert (again.id, again.tries) == (message, 1)


def test_race_of_a_worker_that_gives_its_job_back_with_one_that_has_taken_it(turn):
    message = make_announcement(make_deal().id, make_id(NOW))
    mine = jobs.get(message)
    table.write(Update(key=keys.job(message), set={"taken_by": make_id(NOW, 9)}))
    turn("maintenance")
    with pytest.raises(Conflict):
        jobs.save_progress(mine, {"sent": 1}, now=NOW)
    assert jobs.get(message).taken_by == make_id(NOW, 9)


def test_a_process_that_was_idle_for_long_waits_for_the_read_of_another_thread(time, monkeypatch):
    here = KnownSwitch()
    here.keep(SiteSwitch())
    time.now += 3600
    reading = threading.Event()

    def slowly() -> SiteSwitch:
        reading.set()
        threading.Event().wait(0.05)
        return SiteSwitch("read-only")

    monkeypatch.setattr(site_switch, "read", slowly)
    other = threading.Thread(target=here.current)
    other.start()
    assert reading.wait(10)
    assert here.current().state == "read-only"  # not what it was an hour ago
    other.join()
