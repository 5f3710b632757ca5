"""`builders jobs`, and what `doctor` says of jobs that have failed."""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from builders.cli.jobs import check_failed
from tests.cli.conftest import Cli

TASK, PERIODIC = "test.work", "test.nightly"
ADD = """
    INSERT INTO procrastinate_jobs (queue_name, task_name, status, attempts, queueing_lock, args)
    VALUES ('default', %s, 'failed', 12, %s, %s) RETURNING id
"""
STATES = "SELECT id, status::text, attempts FROM procrastinate_jobs WHERE task_name LIKE 'test.%%' ORDER BY id"
DELETE = "DELETE FROM procrastinate_jobs WHERE task_name LIKE 'test.%%'"


@pytest.fixture
def conn(conninfo: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        yield connection
        connection.execute(DELETE)


def add(conn: psycopg.Connection, *, task: str = TASK, once: str | None = None, **arguments: str) -> int:
    """Add a failed job; return its id."""
    row = conn.execute(ADD, [task, once, json.dumps({"enqueued_by_request": "a1", **arguments})]).fetchone()
    assert row is not None
    return int(row[0])


def states(conn: psycopg.Connection) -> dict[int, tuple[str, int]]:
    return {each: (status, attempts) for each, status, attempts in conn.execute(STATES).fetchall()}


def answered(result: Any) -> Any:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_failed_jobs_are_listed_with_their_ids(builders: Cli, conn: psycopg.Connection) -> None:
    first, second = add(conn), add(conn, domain_id="7")
    found = answered(builders("jobs", "list", "--limit", "2", "--json"))
    assert [(each["id"], each["arguments"]) for each in found] == [(second, {"domain_id": "7"}), (first, {})]
    shown = builders("jobs", "list").stdout.splitlines()
    assert [each.split() for each in shown][:2] == [
        ["ID", "TASK", "FAILED", "ATTEMPTS", "ARGUMENTS"],
        [str(second), TASK, "-", "12", "domain_id=7"],
    ]


def test_failed_jobs_are_retried_from_the_first_attempt(builders: Cli, conn: psycopg.Connection) -> None:
    first, second = add(conn), add(conn)
    assert answered(builders("jobs", "retry", str(second), "--json")) == {"retried": [second]}
    assert states(conn) == {first: ("failed", 12), second: ("todo", 0)}


def test_of_jobs_that_wait_once_the_newest_is_retried(builders: Cli, conn: psycopg.Connection) -> None:
    old, new = add(conn, once="one"), add(conn, once="one")
    assert builders("jobs", "retry", "--task", TASK).stdout == "1 job retried.\n"
    assert states(conn) == {old: ("failed", 12), new: ("todo", 0)}


def test_no_job_is_retried_beside_one_that_waits(builders: Cli, conn: psycopg.Connection) -> None:
    add(conn, once="one")
    assert builders("jobs", "retry", "--task", TASK).exit_code == 0
    add(conn, once="one")
    assert builders("jobs", "retry", "--task", TASK).stdout == "0 jobs retried.\n"


def test_failed_jobs_are_discarded(builders: Cli, conn: psycopg.Connection) -> None:
    gone, kept = add(conn), add(conn, task=PERIODIC)
    assert answered(builders("jobs", "discard", "--task", TASK, "--json")) == {"discarded": [gone]}
    assert list(states(conn)) == [kept]


def test_a_job_that_waits_is_not_discarded(builders: Cli, conn: psycopg.Connection) -> None:
    job = add(conn)
    builders("jobs", "retry", str(job))
    assert builders("jobs", "discard", str(job)).exit_code == 1
    assert states(conn) == {job: ("todo", 0)}


def test_an_id_without_a_failed_job_is_a_failure(builders: Cli, conn: psycopg.Connection) -> None:
    job = add(conn)
    assert builders("jobs", "retry", str(job), str(job + 1)).exit_code == 1
    assert states(conn) == {job: ("todo", 0)}


@pytest.mark.parametrize("word", ["retry", "discard"])
def test_jobs_are_chosen_by_id_or_task(builders: Cli, word: str) -> None:
    refused = builders("jobs", word)
    assert refused.exit_code == 2
    assert "Name jobs by their ids, or all of a task by --task." in refused.stderr


def test_the_doctor_reports_a_failed_job(conninfo: str, conn: psycopg.Connection) -> None:
    add(conn)
    found = check_failed(conninfo)
    assert not found.ok
    assert f"{TASK} 1" in found.detail


def test_a_failed_job_that_a_schedule_repeats_is_no_fault(conninfo: str, conn: psycopg.Connection) -> None:
    conn.execute("DELETE FROM procrastinate_jobs WHERE status = 'failed'")
    add(conn, task=PERIODIC, once=PERIODIC)
    assert check_failed(conninfo).ok
