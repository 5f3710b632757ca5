"""Syncs of the tests."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import httpx

from builders.demo.registrars.fake import FakeAccount, FakeDomain, FakeRegistrar
from builders.kit.jobs import queue
from builders.kit.jobs.time_slices import TimeSlice
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from builders.portfolio.runs import work as portfolio_work
from builders.portfolio.runs.records import WorkKind
from builders.portfolio.runs.work import WORK, PartTools
from tests.cast import Client, Person
from tests.portfolio.registrars.make import REGISTRARS, database_of, keyring_of
from tests.registrars.fakes import FAKES

SYNC = f"{REGISTRARS}/sync"
INVENTORY = f"{REGISTRARS}/inventory"
CREATED = datetime(2020, 2, 29, 12, tzinfo=UTC)
EXPIRES = datetime(2027, 2, 28, 12, tzinfo=UTC)
Json = dict[str, Any]


def held(name: str, **more: Any) -> FakeDomain:
    """A domain at a registrar."""
    return FakeDomain(**{"domain": name, "expires_at": EXPIRES, "created_at": CREATED, **more})


def fake_of(provider: str, *domains: FakeDomain | str) -> FakeRegistrar:
    rows = [held(each) if isinstance(each, str) else each for each in domains]
    return FAKES[provider](FakeAccount(domains=rows))


def ok(answer: httpx.Response) -> Json:
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


async def start(person: Client, **query: Any) -> Json:
    """Start a sync and return at once."""
    return ok(await person.post(SYNC, params={"wait": 0, **query}))


async def read(person: Client, run: Json, **options: Any) -> Json:
    return ok(await person.get(f"{REGISTRARS}/runs/{run['run_id']}", **options))


async def work(person: Person, settings: Settings) -> None:
    """Run the jobs that wait."""
    await queue.run_pending(database_of(person), settings)


async def sync(person: Person, settings: Settings, **query: Any) -> Json:
    """Sync and return the run when it has ended."""
    run = await start(person, **query)
    await work(person, settings)
    return await read(person, run)


def by_provider(run: Json) -> dict[str, Json]:
    return {each["provider"]: each for each in run["providers"]}


async def run_parts(person: Person, run: Json, outbound: Outbound, **options: int) -> None:
    """Do what the jobs of a run do."""
    for each in run["providers"]:
        await do_part(person, WorkKind.SYNC, UUID(each["connection_id"]), outbound, **options)


async def do_part(person: Person, kind: WorkKind, subject_id: UUID, outbound: Outbound, **options: int) -> None:
    """Do what the job of a part does."""
    tools = PartTools(
        database=database_of(person),
        outbound=outbound,
        keyring=keyring_of(person),
        time_slice=TimeSlice(timedelta(hours=1)),
    )
    work = replace(WORK[kind], do=partial(WORK[kind].do, **options))
    await portfolio_work.do_part(tools, work, account_id=person.account.id, kind=kind, subject_id=subject_id)
