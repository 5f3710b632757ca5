"""Large imports, which a job runs."""

import asyncio
from typing import Any

import pytest

from builders.kit.callers import OPERATOR
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.sheets.sources import SentTable, Source
from builders.portfolio.domain_files.drafts import Options
from builders.portfolio.imports import batches, domain_imports, undo as import_undo, undo_plans
from builders.portfolio.imports.errors import TooManyImports
from builders.portfolio.runs.records import WorkKind
from builders.portfolio.runs.work import MAX_ATTEMPTS
from builders.portfolio.team.records import Access, TeamRole
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.imports.make import IMPORT, IMPORTS, Json, counts, load, ok, undo, valid_rows
from tests.portfolio.registrars.sync import do_part
from tests.portfolio.team.make import code

ROWS = 2_300
FEW = ROWS // 10  # of a test with the fixture `tenth`
HEADER = "domain,folder,cost,bought,password"


def large_file(rows: int) -> str:
    """A file of more rows than a request imports: three bad ones, and one of a domain that is there twice."""
    lines = [f"harbour-{at}.com,F,{at + 1},2024-01-01,hunter2" for at in range(rows - 4)]
    middle = rows * 15 // 23
    return "\n".join(
        [HEADER, *lines[:middle], "bad,,,,", "worse,,,,", *lines[middle:], "www.x.com,,,,", lines[0], ""]
    )


async def queued(alice: Person, rows: int = FEW) -> Json:
    imported = await load(alice, large_file(rows))
    assert (imported["state"], imported["detected"], imported["results"]) == ("queued", None, [])
    return imported


async def state(alice: Person, imported: Json) -> Json:
    return ok(await alice.get(f"{IMPORTS}/{imported['import_id']}", params={"limit": 500}))


async def list_parts(conn: Conn, imported: Json) -> list[bytes]:
    found = await conn.execute(
        "SELECT content FROM portfolio_imports_sources WHERE import_id = %s", (imported["import_id"],)
    )
    return [content for (content,) in await found.fetchall()]


async def work_on(person: Person, kind: WorkKind) -> None:
    """Do what the job of an import, or of its undo, does."""
    await do_part(person, kind, person.account.id, person.service.api.state.outbound)


async def start_imports(owner: Person, content: bytes, count: int) -> list[bool]:
    """Start imports as several processes do at once; return whether each was accepted."""
    state, own = owner.service.api.state, owner.account.id
    access = Access(portfolio_id=own, owner_id=own, member_id=own, role=TeamRole.OWNER, actor=OPERATOR)
    new = SentTable(source=Source.FILE, content=content, options=Options())

    async def start() -> bool:
        try:
            async with state.database.transaction() as conn:
                await domain_imports.import_source(conn, access=access, new=new, small=None, keyring=state.keyring)
        except TooManyImports:
            return False
        return True

    return await asyncio.gather(*(start() for _ in range(count)))


async def test_a_job_imports_a_large_file_and_another_undoes_it(
    alice: Person, conn: Conn, database: Database, settings: Settings
) -> None:
    await add(alice, "harbour-7.com", folder="Old")
    before = await valid_rows(alice)
    imported = await queued(alice, ROWS)
    assert code(await alice.post(f"{IMPORTS}/{imported['import_id']}/undo")) == (409, "import_running")
    parts = await list_parts(conn, imported)
    assert parts
    assert not any(b"hunter2" in each for each in parts)  # sealed

    await queue.run_pending(database, settings)
    done = await state(alice, imported)
    assert (done["state"], done["rows_done"], done["rows_total"]) == ("completed", ROWS, ROWS)
    assert counts(done) == {"created": ROWS - 5, "updated": 1, "unchanged": 1, "errors": 3}
    assert (done["merged_duplicates"], len(done["results"])) == (1, 500)
    bad = ok(await alice.get(f"{IMPORTS}/{imported['import_id']}", params={"outcome": "error"}))
    assert [each["line"] for each in bad["results"]] == [1502, 1503, ROWS]
    assert await list_parts(conn, imported) == []

    tried = await undo(alice, imported, dry_run=True)
    assert (tried["undo"]["rows"], tried["before_row"]) == (2_000, 300)
    rest = await undo(alice, imported, dry_run=True, before_row=300)
    assert (rest["undo"]["rows"], rest["before_row"]) == (300, None)
    assert tried["undo"]["removed"] + rest["undo"]["removed"] == ROWS - 5
    assert tried["undo"]["restored"] + rest["undo"]["restored"] == 1

    undone = await undo(alice, imported)
    assert undone["state"] == "undoing"
    await queue.run_pending(database, settings)
    done = await state(alice, imported)
    assert (done["state"], done["undo"]) == (
        *("undone", {"rows": ROWS, "removed": ROWS - 5, "restored": 1, "kept": 0}),
    )
    assert await valid_rows(alice) == before


@pytest.mark.usefixtures("tenth")
async def test_imports_of_one_account_take_turns_with_those_of_another(
    alice: Person, bob: Person, database: Database, settings: Settings
) -> None:
    mine = [await queued(alice) for _ in range(3)]
    theirs = await queued(bob)
    await queue.run_pending(database, settings.model_copy(update={"worker_slice_s": 0.0}))
    ended = [(await state(alice, each))["finished_at"] for each in mine]
    # The second import of the account waits for its first one.
    assert (await state(bob, theirs))["finished_at"] < sorted(ended)[1]


class Killed(BaseException):
    """A worker was killed."""


@pytest.mark.usefixtures("tenth")
async def test_a_killed_worker_is_continued_without_doubles(
    alice: Person, conn: Conn, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported = await queued(alice)
    apply_batch, calls = batches.apply_batch, 0

    async def kill(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        counted = await apply_batch(*arguments, **options)
        if calls == 2:
            raise Killed  # after the writes of the batch, before its commit
        return counted

    monkeypatch.setattr(domain_imports, "apply_batch", kill)
    with pytest.raises(Killed):
        await work_on(alice, WorkKind.IMPORT)
    halfway = await state(alice, imported)
    assert (halfway["state"], halfway["rows_done"]) == ("running", 100)
    # Two workers continue it at once.
    await asyncio.gather(*(work_on(alice, WorkKind.IMPORT) for _ in range(2)))
    done = await state(alice, imported)
    assert (done["state"], counts(done)) == ("completed", {"created": FEW - 4, "unchanged": 1, "errors": 3})
    rows = await conn.execute(
        """SELECT count(*), count(DISTINCT domain_id), sum(amount)
           FROM portfolio_ledger_entries WHERE account_id = %s""",
        (alice.account.id,),
    )
    assert await rows.fetchone() == (FEW - 4, FEW - 4, sum(range(1, FEW - 3)))
    # A repeated job does nothing.
    await work_on(alice, WorkKind.IMPORT)
    assert (await state(alice, imported))["rows_done"] == FEW


@pytest.mark.usefixtures("tenth")
async def test_an_undo_that_is_killed_is_continued_without_doubles(
    alice: Person, database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported = await queued(alice)
    await queue.run_pending(database, settings)
    assert (await undo(alice, imported))["state"] == "undoing"
    plan_undo, calls = undo_plans.plan_undo, 0

    async def kill(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise Killed
        return await plan_undo(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(import_undo, "plan_undo", kill)
        with pytest.raises(Killed):
            await work_on(alice, WorkKind.UNDO)
    await asyncio.gather(*(work_on(alice, WorkKind.UNDO) for _ in range(2)))
    done = await state(alice, imported)
    assert (done["state"], done["undo"]) == (
        *("undone", {"rows": FEW, "removed": FEW - 4, "restored": 0, "kept": 0}),
    )


async def test_a_large_file_that_cannot_be_read_fails(
    alice: Person, database: Database, settings: Settings
) -> None:
    content = b"expires,price\n" + b"2027-01-01,5\n" * 100_000
    imported = await load(alice, content)
    await queue.run_pending(database, settings)
    done = await state(alice, imported)
    assert (done["state"], done["failure"]["code"], done["failure"]["field"]) == (
        *("failed", "column_missing", "mapping"),
    )
    assert code(await alice.post(f"{IMPORTS}/{imported['import_id']}/undo")) == (409, "import_final")
    many = await load(alice, b"domain\n" + b"harbour.com\n" * 100_001)
    await queue.run_pending(database, settings)
    assert (await state(alice, many))["failure"]["code"] == "too_many_rows"


@pytest.mark.usefixtures("tenth")
async def test_an_import_that_keeps_failing_is_abandoned_and_can_be_undone(
    alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported = await queued(alice)
    apply_batch = batches.apply_batch

    async def fail(*arguments: Any, **options: Any) -> Any:
        if options["drafts"][0][0]:
            raise RuntimeError
        return await apply_batch(*arguments, **options)

    monkeypatch.setattr(domain_imports, "apply_batch", fail)
    for _ in range(MAX_ATTEMPTS):
        with pytest.raises(RuntimeError):
            await work_on(alice, WorkKind.IMPORT)
    await work_on(alice, WorkKind.IMPORT)
    failed = await state(alice, imported)
    assert (failed["state"], failed["failure"]["code"]) == ("failed", "import_failed")
    undone = await undo(alice, imported)
    assert (undone["state"], undone["undo"]["removed"]) == (
        "undone",
        99,
    )  # two of the first rows are of one domain
    assert ok(await alice.get(DOMAINS))["items"] == []


COMPLETED = "SELECT count(*) FROM kit_outbox WHERE account_id = %s AND name = 'portfolio.import.completed'"


@pytest.mark.usefixtures("tenth")
async def test_an_undo_that_keeps_failing_is_no_second_end_of_the_import(
    alice: Person, conn: Conn, database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported = await queued(alice)
    await queue.run_pending(database, settings)
    await undo(alice, imported)

    async def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(import_undo, "plan_undo", fail)
        for _ in range(MAX_ATTEMPTS):
            with pytest.raises(RuntimeError):
                await work_on(alice, WorkKind.UNDO)
        await work_on(alice, WorkKind.UNDO)
    failed = await state(alice, imported)
    assert (failed["state"], failed["failure"]["code"]) == ("failed", "undo_failed")
    assert await (await conn.execute(COMPLETED, [alice.account.id])).fetchone() == (1,)
    await undo(alice, imported)
    await work_on(alice, WorkKind.UNDO)
    undone = await state(alice, imported)
    assert (undone["state"], undone["failure"]) == ("undone", None)


async def test_bodies_of_50_mb_are_taken_on_this_path_alone(alice: Person) -> None:
    content = b"domain,notes\nharbour.com," + b"x" * (3 * 1024 * 1024) + b"\n"
    assert (await load(alice, content))["state"] == "queued"
    too_large = await alice.post(DOMAINS, content=content, headers={"Content-Type": "application/json"})
    assert code(too_large) == (413, "body_too_large")
    huge = {"Content-Type": "text/csv", "Content-Length": str(51 * 1024 * 1024)}
    assert code(await alice.post(IMPORT, content=b"x", headers=huge)) == (413, "body_too_large")


@pytest.mark.maximum("open_imports")
async def test_only_so_many_imports_wait_at_once(alice: Person, conn: Conn) -> None:
    content = b"domain,notes\n" + b"harbour.com,x\n" * 80_000
    assert (await start_imports(alice, content, 8)).count(True) == domain_imports.MAX_OPEN
    assert code(await alice.post(IMPORT, json={"text": "a.com"})) == (429, "too_many_imports")
    await conn.execute("DELETE FROM portfolio_runs WHERE account_id = %s", (alice.account.id,))
    assert counts(await load(alice, "domain\nharbour.com\n")) == {"created": 1}


async def test_old_imports_are_deleted(alice: Person, conn: Conn, database: Database) -> None:
    imported = await load(alice, "domain\nharbour.com\n")
    await conn.execute(
        "UPDATE portfolio_runs SET created_at = created_at - interval '31 days' WHERE id = %s",
        (imported["import_id"],),
    )
    await old_rows.delete(database, "portfolio_runs")
    assert code(await alice.get(f"{IMPORTS}/{imported['import_id']}")) == (404, "import_not_found")
