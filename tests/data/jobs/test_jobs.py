from datetime import timedelta
from functools import partial

import pytest

from dealsite.data import keys, table
from dealsite.data.editing import audit
from dealsite.data.entities.work import PART, SEND_MESSAGE, place_of
from dealsite.data.jobs import jobs, queue
from dealsite.data.table import errors, ids
from dealsite.data.table.writes import Delete
from tests.builders import EDITOR, NOW
from tests.measuring import measured
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("whole_table")


def add_job(number=1, due=NOW, kind="sing", **payload):
    job_id = ids.new_ulid(NOW, number)
    table.transact([jobs.job_write(kind, payload, job_id=job_id, due=due)])
    return job_id


def test_a_due_job_is_taken_with_its_payload(wait_for_indexes):
    job_id = add_job(song="Gloria")
    wait_for_indexes()
    job = jobs.take_next(now=NOW)
    assert (job.id, job.kind, job.payload, job.tries, job.state) == (
        job_id,
        "sing",
        {"song": "Gloria"},
        1,
        "open",
    )


def test_a_job_waits_for_its_time(wait_for_indexes):
    job_id = add_job(due=NOW + timedelta(minutes=1))
    wait_for_indexes()
    assert jobs.take_next(now=NOW + timedelta(seconds=59)) is None
    assert jobs.take_next(now=NOW + timedelta(minutes=1)).id == job_id


def test_a_time_that_cannot_be_stored_is_refused_and_not_taken_for_now():
    with pytest.raises(errors.Invalid, match="The year should be from 2000 to 2100"):
        add_job(due=NOW.replace(year=2101))


def test_a_taken_job_is_nobody_elses_until_its_lease_ends(wait_for_indexes):
    job_id = add_job()
    wait_for_indexes()
    jobs.take_next(now=NOW)
    wait_for_indexes()
    assert jobs.take_next(now=NOW + jobs.LEASE - timedelta(milliseconds=1)) is None
    again = jobs.take_next(now=NOW + jobs.LEASE)
    assert (again.id, again.tries) == (job_id, 2)


def test_a_finished_job_stays_finished(wait_for_indexes):
    job_id = add_job()
    wait_for_indexes()
    jobs.finish(jobs.take_next(now=NOW))
    wait_for_indexes()
    assert jobs.take_next(now=NOW + timedelta(days=1)) is None
    assert jobs.get(job_id).state == "done"
    assert [row["card"]["state"] for row in table.query("JOBS#2026-11", index=keys.GSI1)] == ["done"]


def test_who_lost_the_lease_cannot_finish_save_fail_or_put_back(wait_for_indexes):
    add_job()
    wait_for_indexes()
    slow = jobs.take_next(now=NOW)
    wait_for_indexes()
    jobs.take_next(now=NOW + jobs.LEASE)
    for act in (
        lambda: jobs.finish(slow),
        lambda: jobs.save_checkpoint(slow, {"at": 1}, now=NOW),
        lambda: jobs.fail(slow, "late", now=NOW),
        lambda: jobs.wait_until(slow, NOW),
        lambda: jobs.pause_own(slow, "late"),
    ):
        with pytest.raises(errors.Conflict):
            act()


def test_a_checkpoint_is_there_for_the_next_worker_and_renews_the_lease(wait_for_indexes):
    add_job()
    wait_for_indexes()
    job = jobs.take_next(now=NOW)
    measured(jobs.save_checkpoint)(job, {"at": 7}, now=NOW + timedelta(seconds=30))
    wait_for_indexes()
    assert jobs.take_next(now=NOW + jobs.LEASE) is None
    assert jobs.take_next(now=NOW + timedelta(seconds=30) + jobs.LEASE).checkpoint == {"at": 7}


def test_a_failed_job_is_tried_again_later_and_given_up_after_eight_tries(wait_for_indexes):
    job_id = add_job()
    now = NOW
    for tries in range(1, 9):
        wait_for_indexes()
        job = jobs.take_next(now=now)
        assert job.tries == tries
        jobs.fail(job, "No voice.", now=now)
        if tries < 8:
            wait_for_indexes()
            now += timedelta(seconds=4**tries)
            assert jobs.take_next(now=now - timedelta(milliseconds=1)) is None
    assert timedelta(hours=6) < now - NOW < timedelta(hours=6, minutes=5)
    wait_for_indexes()
    assert jobs.take_next(now=now + timedelta(days=1)) is None
    job = jobs.get(job_id)
    assert (job.state, job.error) == ("failed", "No voice.")


def test_a_part_is_given_up_within_minutes_since_its_job_looks_as_if_it_ran(wait_for_indexes):
    job_id, now = add_job(kind=PART), NOW
    for tries in range(1, 9):
        wait_for_indexes()
        jobs.fail(jobs.take_next(now=now), "No voice.", now=now)
        now += timedelta(seconds=2**tries)
    assert jobs.get(job_id).state == "failed"


@pytest.mark.parametrize("kind", ["sing", SEND_MESSAGE])
def test_what_waits_for_its_next_try_is_tried_at_once_where_somebody_says_so(wait_for_indexes, kind):
    job_id = add_job(kind=kind)
    wait_for_indexes()
    assert "retry" not in queue.may_act(jobs.get(job_id))
    queue.retry(job_id, by=EDITOR, now=NOW)  # nothing to do: it waits for a worker
    job = jobs.take_next(now=NOW)
    assert "retry" not in queue.may_act(jobs.get(job_id))
    jobs.fail(job, "No voice.", now=NOW)
    assert queue.may_act(jobs.get(job_id))[0] == "retry"
    queue.retry(job_id, by=EDITOR, now=NOW)
    wait_for_indexes()
    again = jobs.take_next(now=NOW)
    assert (again.id, again.tries, again.error) == (job_id, 1, "")
    queue.retry(job_id, by=EDITOR, now=NOW)  # a worker has it
    assert jobs.get(job_id).taken_by == again.taken_by


def test_a_job_that_a_worker_takes_meanwhile_stays_with_it(wait_for_indexes, monkeypatch):
    job_id, taken = add_job(), []
    wait_for_indexes()
    jobs.fail(jobs.take_next(now=NOW), "No voice.", now=NOW)
    wait_for_indexes()
    entry_write = audit.entry_write

    def take_first(**given):
        taken.append(jobs.take_next(now=NOW + timedelta(seconds=4)))
        return entry_write(**given)

    monkeypatch.setattr(audit, "entry_write", take_first)
    queue.retry(job_id, by=EDITOR, now=NOW)
    assert (jobs.get(job_id).taken_by, jobs.get(job_id).tries) == (taken[0].taken_by, 2)


def test_a_job_paused_by_its_worker_rests_with_the_reason_until_somebody_resumes_it_and_answers_for_it(
    wait_for_indexes,
):
    job_id = add_job(kind=SEND_MESSAGE, by="eve")
    wait_for_indexes()
    measured(jobs.pause_own)(jobs.take_next(now=NOW), "She left.")
    job = jobs.get(job_id)
    assert (job.state, job.error, job.taken_by) == ("paused", "She left.", "")
    wait_for_indexes()
    assert jobs.take_next(now=NOW + jobs.LEASE) is None
    queue.resume(job_id, by="root", now=NOW)
    job = jobs.get(job_id)
    assert (job.state, job.error, job.payload) == ("open", "", {"by": "root"})


def test_a_job_put_back_starts_its_tries_anew(wait_for_indexes):
    add_job()
    wait_for_indexes()
    measured(jobs.wait_until)(jobs.take_next(now=NOW), NOW + timedelta(seconds=10))
    wait_for_indexes()
    assert jobs.take_next(now=NOW) is None
    assert jobs.take_next(now=NOW + timedelta(seconds=10)).tries == 1


def add_message():
    """A job that sends messages, which editors may steer; it needs no more than its kind."""
    return add_job(kind=SEND_MESSAGE)


def test_a_paused_job_is_not_found_until_it_is_resumed(wait_for_indexes):
    job_id = add_message()
    for _ in range(2):
        queue.pause(job_id, by=EDITOR, now=NOW)
    wait_for_indexes()
    assert jobs.take_next(now=NOW) is None
    assert jobs.get(job_id).state == "paused"
    for _ in range(2):
        queue.resume(job_id, by=EDITOR, now=NOW)
    wait_for_indexes()
    assert jobs.take_next(now=NOW).id == job_id


def test_pausing_and_cancelling_take_the_job_from_its_worker(wait_for_indexes):
    for steer in (queue.pause, queue.cancel):
        job_id = add_message()
        wait_for_indexes()
        job = jobs.take_next(now=NOW)
        steer(job_id, by=EDITOR, now=NOW)
        for act in (
            partial(jobs.finish, job),
            partial(jobs.save_progress, job, {"sent": 1}, now=NOW),
            partial(jobs.fail, job, "late", now=NOW),
            partial(jobs.cancel_own, job, "late"),
        ):
            with pytest.raises(errors.Conflict):
                act()
        assert "progress" not in table.get(keys.job(job_id))
        table.write(Delete(key=keys.job(job_id)))
        wait_for_indexes()


def test_what_is_over_stays_over(wait_for_indexes):
    job_id = add_message()
    wait_for_indexes()
    measured(jobs.finish)(measured(jobs.take_next)(now=NOW, at=[place_of(SEND_MESSAGE, job_id)]))
    for steer in (
        lambda: queue.pause(job_id, by=EDITOR, now=NOW),
        lambda: queue.cancel(job_id, by=EDITOR, now=NOW),
        lambda: queue.resume(job_id, by=EDITOR, now=NOW),
        lambda: queue.retry(job_id, by=EDITOR, now=NOW),
    ):
        with pytest.raises(errors.Conflict, match="done already"):
            steer()
    assert queue.may_act(measured(jobs.get)(job_id)) == ()


def test_only_messages_can_be_paused_and_cancelled():
    job_id = add_job()
    for steer in (queue.pause, queue.cancel):
        with pytest.raises(errors.Conflict, match="cannot be paused or cancelled"):
            steer(job_id, by=EDITOR, now=NOW)
    assert queue.may_act(jobs.get(job_id)) == ()
    assert queue.may_act(jobs.get(add_job(2, kind=SEND_MESSAGE))) == ("pause", "cancel")


def test_progress_renews_the_lease_and_says_what_is_amiss_until_it_is_not(wait_for_indexes):
    job_id = add_message()
    wait_for_indexes()
    job = jobs.take_next(now=NOW)
    jobs.save_progress(job, {"sent": 2}, now=NOW, error="It is slow.")
    assert jobs.get(job_id).error == "It is slow."
    measured(jobs.save_progress)(job, {"sent": 3}, now=NOW + timedelta(seconds=30))
    wait_for_indexes()
    assert jobs.take_next(now=NOW + jobs.LEASE) is None
    now = jobs.get(job_id)
    assert (now.progress, now.tries, now.error) == ({"sent": 3}, 1, "")


def test_a_checkpoint_forgives_tries_if_it_is_another_than_before(wait_for_indexes):
    job_id = add_job()
    wait_for_indexes()
    job = jobs.save_checkpoint(jobs.take_next(now=NOW), {}, now=NOW)
    assert jobs.get(job_id).tries == 1
    jobs.save_checkpoint(job, {"at": 7}, now=NOW)
    assert jobs.get(job_id).tries == 0


def test_a_job_that_an_index_still_shows_where_it_was_is_passed_over(wait_for_indexes):
    job_id = add_message()
    wait_for_indexes()
    table.write(Delete(key=keys.job(job_id)))
    other = add_job(2)
    wait_for_indexes()
    assert jobs.take_next(now=NOW).id == other


@pytest.mark.engines_differ
@pytest.mark.engines("weak")
def test_a_job_that_went_a_moment_ago_takes_no_worker_down(faults):
    job_id = add_message()
    faults.wait_for_indexes()
    table.write(Delete(key=keys.job(job_id)))
    assert jobs.take_next(now=NOW) is None


@pytest.mark.engines("native", "local")
def test_of_cancelling_and_finishing_at_once_one_wins():
    for number in range(5):
        job_id = add_job(number, kind=SEND_MESSAGE)
        job = jobs.take_next(now=NOW)
        outcomes = at_once(partial(queue.cancel, job_id, by=EDITOR, now=NOW), partial(jobs.finish, job))
        assert sum(isinstance(outcome, errors.Conflict) for outcome in outcomes) == 1
        state = jobs.get(job_id).state
        assert state == ("done" if isinstance(outcomes[0], errors.Conflict) else "cancelled")


@pytest.mark.engines("native", "local")
def test_of_many_workers_one_takes_the_job():
    add_job()
    taken = at_once(*[lambda: jobs.take_next(now=NOW)] * 12)
    assert sum(job is not None for job in taken) == 1


@pytest.mark.budget
@pytest.mark.moto
def test_looking_for_work_is_a_query_for_each_place_and_taking_it_an_update_and_a_get():
    with table.metered() as meter:
        assert jobs.take_next(now=NOW) is None
    assert meter.log == [("Query", "GSI3")] * 8
    job_id = add_job()
    with table.metered() as meter:
        jobs.take_next(now=NOW, at=[place_of("sing", job_id)])
    assert meter.log == [("Query", "GSI3"), ("UpdateItem", None), ("GetItem", None)]


def test_jobs_of_a_month_are_listed_newest_first(wait_for_indexes):
    made = [add_job(number) for number in (1, 2)]
    wait_for_indexes()
    assert [job.id for job in measured(jobs.of_month)(f"{NOW:%Y-%m}").rows] == made[::-1]


def test_a_failed_job_says_why_while_it_waits_for_the_next_try(wait_for_indexes):
    job_id = add_job()
    wait_for_indexes()
    job = jobs.take_next(now=NOW)
    assert job is not None
    measured(jobs.fail)(job, "No voice.", now=NOW)
    assert (jobs.get(job_id).state, jobs.get(job_id).error) == ("open", "No voice.")


def test_who_works_on_a_job_may_find_that_there_is_nothing_to_do(wait_for_indexes):
    job_id = add_job()
    wait_for_indexes()
    job = jobs.take_next(now=NOW)
    assert job is not None
    measured(jobs.cancel_own)(job, "It is over.")
    assert (jobs.get(job_id).state, jobs.get(job_id).error) == ("cancelled", "It is over.")
