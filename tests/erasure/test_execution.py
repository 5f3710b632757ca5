"""The erasure of an account: nothing of it is left in any column of any table, and what stays."""

import asyncio
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack, aclosing
from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from builders.erasure import execution
from builders.erasure.errors import AccountUnsettled
from builders.erasure.records import LIST
from builders.identity import accounts
from builders.identity.records import ERASED, Preset
from builders.kit.db import account_tables
from builders.kit.db.connections import Conn, Database
from builders.kit.process import log
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.mail import service as mail
from builders.mail.templates import EmailReplaced
from tests import log_lines
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.console import form_scenes as scenes, portfolio_scene
from tests.console.scenes import Scene
from tests.invoices.make import make_invoice
from tests.plans import make
from tests.plans.approval.make import join_team
from tests.portfolio.team.make import invite, of
from tests.worker import Worker, emails_to

COLUMNS = """
    SELECT attrelid::regclass::text, attname::text FROM pg_attribute
    WHERE attrelid IN (SELECT oid FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition
                       AND relnamespace = current_schema()::regnamespace)
      AND attnum > 0 AND NOT attisdropped ORDER BY 1, 2
"""
MARKS = ["marked-ada", "harbour.com", "Ask the broker.", "Theirs Limited", "laptop"]
TOKEN = re.compile(r"token=([\w.-]{8,})")
LEAST = 30  # tables at least in which the scene has rows
# What stays, and for what reason: docs/explanation/what-is-kept.md.
KEPT = {*execution.INVOICES, "identity_accounts"}


async def begin(person: Person) -> None:
    async with person.service.api.state.database.transaction() as conn:
        await execution.begin(conn, account=person.account)


async def run(person: Person, **options: Any) -> int:
    state, batches = person.service.api.state, 0
    async with aclosing(
        execution.run(state.database, settings=state.settings, account_id=person.account.id, **options)
    ) as running:
        async for _ in running:
            batches += 1
    return batches


async def erase(person: Person) -> None:
    await begin(person)
    await run(person)


@pytest.fixture
def logged() -> Iterator[StringIO]:
    """Return what is logged in the test, at all levels."""
    stream = StringIO()
    log.configure(level="debug", stream=stream)
    yield stream
    log_lines.write_errors_only()


@pytest.fixture
async def of_others(conn: Conn) -> Counter[tuple[str, str]]:
    """Return where other tests have left the texts."""
    return await find_values(conn, MARKS)


@pytest.fixture
async def filled(people: MakePerson, database: Database, settings: Settings, tmp_path: Any, assets: Any) -> Person:
    """Fill an account through the API, with jobs that wait, email, events and rows in the accounts of others."""
    ada = await people("marked-ada")
    charlie = await people("charlie", Preset.DOMAINER_FULL)
    async with AsyncExitStack() as stack:
        domain = await make.Domains(database, folder=tmp_path, assets=assets)()
        scene = Scene(ada, charlie, domain, lambda _: None, stack)  # type: ignore[arg-type, return-value] # unused
        for step in (
            *(scenes.domain, scenes.key, scenes.session, scenes.webhook, scenes.notified, scenes.booked_domain),
            *(scenes.saved_view, scenes.linked_calendar, scenes.member, scenes.change_billing),
            *(scenes.change_profile,),
        ):
            await step(scene)
        await portfolio_scene.fill(ada)
        invited = await invite(charlie, ada)
        async with ada.browser() as browser:
            answer = await browser.post("/v1/portfolio/team/accept", json={"token": invited["accept_token"]})
        assert answer.status_code == 200, answer.text
        await make.apply(ada, make.alias(f"ada@{domain}"))
        for each in await make.list_invoices(database, ada):
            await make.pay_invoice(database, ada, each)
        await Worker(database, settings).work()
    return ada


async def find_values(conn: psycopg.AsyncConnection[Any], values: list[str]) -> Counter[tuple[str, str]]:
    """Return in how many rows the columns hold one of the texts, whatever their type."""
    found, wanted = Counter[tuple[str, str]](), [f"%{each}%" for each in values]
    for table, column in await (await conn.execute(COLUMNS)).fetchall():
        names = {"table": sql.SQL(table), "column": sql.Identifier(column)}
        statement = sql.SQL("""
            SELECT count(*) FROM {table} AS own WHERE to_jsonb(own.{column})::text LIKE ANY(%(wanted)s)
                OR pg_typeof(own.{column}) = 'bytea'::regtype
               AND encode(own.{column}::text::bytea, 'escape') LIKE ANY(%(wanted)s)
        """).format(**names)
        [(count,)] = await (await conn.execute(statement, {"wanted": wanted})).fetchall()
        found[table, column] = count
    return found


async def count_rows(conn: psycopg.AsyncConnection[Any], person: Person) -> dict[str, int]:
    """Return the number of rows that the account owns, by table."""
    counts = {}
    for table in await account_tables.load(conn):
        where = sql.SQL(" OR ").join(
            sql.SQL("{} = ANY(%(ids)s)").format(sql.Identifier(owner)) for owner in table.owners
        )
        statement = sql.SQL("SELECT count(*) FROM {} WHERE {}").format(sql.Identifier(table.name), where)
        ids = [person.account.id, person.account.sandbox_id]
        [(count,)] = await (await conn.execute(statement, {"ids": ids})).fetchall()
        if count:
            counts[table.name] = count
    return counts


async def test_nothing_of_the_account_is_left_in_any_column(
    of_others: Counter[tuple[str, str]], filled: Person, conn: Conn
) -> None:
    before = await count_rows(conn, filled)
    assert len(before) >= LEAST, sorted(before)
    assert len(await find_values(conn, MARKS) - of_others) >= LEAST // 3
    await erase(filled)

    assert {name for name in await count_rows(conn, filled) if name not in KEPT} == set()
    # The name on an issued invoice stays.
    assert (await find_values(conn, MARKS) - of_others).keys() <= {("invoices_invoices", "buyer")}
    assert +await find_values(conn, [filled.account.email]) == Counter()
    ids = [str(filled.account.id), str(filled.account.sandbox_id)]
    left = {table for table, _ in +await find_values(conn, ids)}
    assert left <= {*KEPT, *OF_OTHERS, "procrastinate_jobs"}, left  # its job waits for two minutes


# An id of the account in rows of others: the team of Charlie knows that somebody left it.
OF_OTHERS = {"identity_audit", "kit_outbox", "kit_outbox_pending", "webhooks_payloads", "portfolio_team_invites"}


async def test_logs_hold_ids_only(logged: StringIO, filled: Person, settings: Settings) -> None:
    address = filled.account.email
    found = emails_to(address, settings.data_dir)
    subjects = [str(each["subject"]) for each in found]
    tokens = [token for each in found for token in TOKEN.findall(str(each).replace("=\n", ""))]
    assert (len(subjects) > 0, len(tokens) > 0) == (True, True)
    await erase(filled)
    hidden = [*MARKS, address, filled.key, *subjects, *tokens]
    lines = logged.getvalue().splitlines()
    assert [each for each in lines if "account_erased" in each and str(filled.account.id) in each]
    assert [each for each in lines if any(text in each for text in hidden)] == []


async def test_its_row_says_so(filled: Person, conn: Conn) -> None:
    await erase(filled)
    found = await accounts.list_accounts_by_id(conn, account_ids=[filled.account.id])

    assert [(each.email, each.name) for each in found.values()] == [(ERASED, ERASED)]


async def test_its_credentials_are_refused_at_once(alice: Person) -> None:
    await begin(alice)
    refused = (await alice.get("/v1/me")).json()
    assert (refused["code"], refused["detail"]) == ("account_suspended", "This account is being erased.")
    assert "operator" not in refused["next_action"]
    await run(alice)
    assert (await alice.get("/v1/me")).status_code == 401


async def test_a_member_of_its_team_does_not_read_that_it_can_be_restored(alice: Person, dana: Person) -> None:
    await join_team(alice, dana)
    await begin(alice)
    refused = (await dana.get("/v1/portfolio/domains", headers=of(alice))).json()

    assert (refused["code"], refused["detail"]) == ("account_suspended", "This account is being erased.")
    assert "operator" not in refused["next_action"]


async def test_its_address_can_have_a_new_account(alice: Person, conn: Conn) -> None:
    await begin(alice)
    made = await accounts.create_account(conn, email=alice.account.email, verified=True)
    await run(alice)

    assert (await accounts.get_account_by_email(conn, email=alice.account.email)).id == made.id


async def test_the_sign_ins_and_invitations_of_a_new_account_stay(
    alice: Person, dana: Person, anyone: Client, conn: Conn
) -> None:
    address = {"email": alice.account.email}
    await anyone.post("/v1/auth/login", json=address)
    await begin(alice)
    clock.move(timedelta(seconds=1))
    await anyone.post("/v1/auth/login", json=address)
    await invite(dana, alice)
    await run(alice)
    count = "SELECT count(*) FROM identity_sign_ins WHERE address = %s"
    assert await (await conn.execute(count, [alice.account.email])).fetchone() == (1,)
    team = (await dana.get("/v1/portfolio/team")).json()
    assert [each["email"] for each in team["invites"]] == [alice.account.email]


async def test_waiting_mail_is_not_sent(alice: Person, database: Database, settings: Settings) -> None:
    async with database.transaction() as conn:
        await mail.send(
            conn,
            keyring=alice.service.api.state.keyring,
            account_id=alice.account.id,
            to="eve@example.net",
            template=EmailReplaced(new_address_masked="a***@example.org"),
        )
    await erase(alice)

    assert await Worker(database, settings).list_emails("eve@example.net") == []


async def test_messages_in_the_development_outbox_are_deleted(
    alice: Person, bob: Person, database: Database, settings: Settings
) -> None:
    worker = Worker(database, settings)
    for person in (alice, bob):
        async with database.transaction() as conn:
            await mail.send(
                conn,
                keyring=person.service.api.state.keyring,
                account_id=person.account.id,
                to=person.account.email,
                template=EmailReplaced(new_address_masked="a***@example.org"),
            )
    assert len(await worker.list_emails(alice.account.email)) == 1
    await erase(alice)

    assert await worker.list_emails(alice.account.email) == []
    assert len(await worker.list_emails(bob.account.email)) == 1


async def test_issued_invoices_stay_without_the_email_address(
    alice: Person, database: Database, conn: Conn
) -> None:
    invoice = await make_invoice(database, account_id=alice.account.id)
    test = await make_invoice(database, account_id=alice.account.sandbox_id, is_test=True)
    async with database.transaction() as own:
        await own.execute("UPDATE invoices_invoices SET status = 'void', voided_at = now() WHERE status = 'open'")
    await erase(alice)
    read = "SELECT id, total, buyer ->> 'name', buyer ? 'email' FROM invoices_invoices WHERE id = ANY(%s)"
    found = await (await conn.execute(read, [[invoice.id, test.id]])).fetchall()

    assert [(each, name, has_email) for each, _, name, has_email in found] == [(invoice.id, "Alice", False)]


async def test_an_open_invoice_is_settled_first(alice: Person, database: Database, conn: Conn) -> None:
    await make_invoice(database, account_id=alice.account.id)
    with pytest.raises(AccountUnsettled, match="is open"):
        await execution.begin_now(conn, account=alice.account, reason="ticket 1")


@pytest.mark.parametrize("after", [1, 5, 60, 150, 260])
async def test_a_killed_job_is_continued(filled: Person, conn: Conn, after: int) -> None:
    await begin(filled)
    state = filled.service.api.state
    running = execution.run(state.database, settings=state.settings, account_id=filled.account.id, batch=2)
    async with aclosing(running) as batches:
        for _ in range(after):
            await anext(batches, None)
    await run(filled)

    assert {name for name in await count_rows(conn, filled) if name not in KEPT} == set()


async def test_two_jobs_at_once_end_right(filled: Person, conn: Conn) -> None:
    await begin(filled)
    await asyncio.gather(run(filled), run(filled))

    assert {name for name in await count_rows(conn, filled) if name not in KEPT} == set()


async def test_a_second_run_does_nothing(alice: Person) -> None:
    await erase(alice)

    assert await run(alice) == 0


async def test_the_list_names_the_account_and_no_address(alice: Person, settings: Settings) -> None:
    await erase(alice)
    last = (settings.data_dir / LIST).read_text().splitlines()[-1]

    assert UUID(last.split()[0]) == alice.account.id
    assert "@" not in last


async def test_a_list_is_repeated(alice: Person, bob: Person, conn: Conn) -> None:
    state = alice.service.api.state
    lines = [f"{alice.account.id} 2026-11-26T10:00:00Z\n", f"{UUID(int=7)} 2026-11-26T10:00:00Z\n", "\n"]

    assert await execution.repeat(
        state.database, settings=state.settings, account_ids=execution.read_list(lines)
    ) == [alice.account.id]
    assert (
        await execution.repeat(state.database, settings=state.settings, account_ids=execution.read_list(lines))
        == []
    )
    assert await accounts.find_erasing(conn, account_id=bob.account.id) is None


async def test_a_job_erases_the_account(alice: Person, database: Database, settings: Settings, conn: Conn) -> None:
    await begin(alice)
    await conn.execute("UPDATE procrastinate_jobs SET scheduled_at = NULL WHERE task_name = %s", [execution.JOB])
    await Worker(database, settings).work()

    assert (await accounts.list_accounts_by_id(conn, account_ids=[alice.account.id]))[
        alice.account.id
    ].email == ERASED
