"""A suspended account: each credential is refused with the reason, nothing is sent, and what comes back."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from builders.identity import keys
from builders.identity.oauth import suspensions
from builders.identity.records import Preset, SessionKind
from builders.invoices import invoices
from builders.kit.db import suspensions as suspended_accounts
from builders.kit.db.connections import Conn, Database
from builders.kit.http.callers import AccountSuspended
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.mail import service as mail
from builders.mail.templates import EmailReplaced
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.erasure.test_execution import erase
from tests.identity.oauth.program import Program, error_of
from tests.identity.oauth.test_at_mcp import send
from tests.identity.test_devices import ask, decide, poll
from tests.invoices.make import make_invoice
from tests.portfolio.team.make import join, of
from tests.worker import Worker

REASON = "Its mail was reported as spam."
ME = "/v1/me"


async def suspend(person: Person, reason: str = REASON) -> bool:
    state = person.service.api.state
    async with state.database.transaction() as conn:
        return await suspensions.suspend(conn, keyring=state.keyring, account=person.account, reason=reason)


async def restore(person: Person) -> bool:
    state = person.service.api.state
    async with state.database.transaction() as conn:
        return await suspensions.restore(conn, keyring=state.keyring, account=person.account)


def refusal(answer: httpx.Response) -> tuple[int, str, str]:
    found = answer.json()
    return answer.status_code, found["code"], found["detail"]


REFUSED = (403, "account_suspended", f"The operator has suspended this account: {REASON}")


@pytest.mark.parametrize("kind", ["live", "test"])
async def test_keys_are_refused_with_the_reason(alice: Person, kind: str) -> None:
    client = alice if kind == "live" else alice.test
    assert (await client.get(ME)).status_code == 200
    await suspend(alice)

    assert refusal(await client.get(ME)) == REFUSED


@pytest.mark.parametrize("how", ["token", "cookie"])
async def test_sessions_are_refused_with_the_reason(alice: Person, how: str) -> None:
    kind = SessionKind.TOKEN if how == "token" else SessionKind.LOGIN
    new = await alice.sign_in(kind=kind)
    async with Client(alice.service, **{how: new.token}) as client:
        assert (await client.get(ME)).status_code == 200
        await suspend(alice)

        assert refusal(await client.get(ME)) == REFUSED


async def test_a_connection_is_refused_with_the_reason(program: Program, alice: Person) -> None:
    found = await program.connect()
    await suspend(alice)
    answer = await send(program, found["access_token"])

    assert refusal(answer) == REFUSED


async def test_the_access_token_of_a_connection_ends(program: Program, alice: Person) -> None:
    found = await program.connect()
    await suspend(alice)
    await restore(alice)
    answer = await send(program, found["access_token"])

    assert answer.status_code == 401


async def test_the_refresh_token_of_a_connection_ends(program: Program, alice: Person) -> None:
    found = await program.connect()
    await suspend(alice)

    assert error_of(await program.refresh(found["refresh_token"])) == "invalid_grant"
    await restore(alice)
    assert error_of(await program.refresh(found["refresh_token"])) == "invalid_grant"


async def test_a_code_that_was_not_exchanged_ends(program: Program, alice: Person) -> None:
    code = await program.get_code()
    await suspend(alice)

    assert error_of(await program.redeem(code)) == "invalid_grant"


async def test_a_machine_that_waits_gets_no_key(alice: Person, anyone: Client) -> None:
    codes = await ask(anyone)
    async with alice.browser() as browser:
        assert (await decide(browser, codes)).status_code == 200
    await suspend(alice)
    answer = await poll(anyone, codes)

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")


async def test_a_restored_account_has_its_keys_and_not_its_sessions(alice: Person) -> None:
    new = await alice.sign_in()
    await suspend(alice)
    await restore(alice)
    async with Client(alice.service, cookie=new.token) as client:
        assert (await client.get(ME)).status_code == 401
    assert (await alice.get(ME)).status_code == 200


async def test_nobody_signs_in_to_a_suspended_account(alice: Person) -> None:
    await suspend(alice)

    with pytest.raises(AccountSuspended, match=REASON):
        await alice.sign_in()


async def test_a_connection_is_refused_after_an_erasure(program: Program, alice: Person) -> None:
    found = await program.connect()
    await erase(alice)

    assert (await send(program, found["access_token"])).status_code == 401
    assert error_of(await program.refresh(found["refresh_token"])) == "invalid_grant"


async def test_a_member_neither_acts_in_a_suspended_account_nor_reads_the_reason(
    dana: Person, people: MakePerson
) -> None:
    charlie = await people("charlie", Preset.DOMAINER_FULL)
    await join(dana, charlie)
    assert (await charlie.get("/v1/portfolio/domains", headers=of(dana))).status_code == 200
    await suspend(dana)

    answer = await charlie.get("/v1/portfolio/domains", headers=of(dana))
    assert refusal(answer) == (403, "account_suspended", "The operator has suspended this account.")
    assert REASON not in answer.text
    assert (await charlie.get("/v1/portfolio/domains")).status_code == 200


async def test_the_account_is_mailed_once_and_audited(
    alice: Person, conn: Conn, database: Database, settings: Settings
) -> None:
    assert [await suspend(alice), await suspend(alice, "another")] == [True, False]
    messages = await Worker(database, settings).list_emails(alice.account.email)
    assert [each["subject"] for each in messages] == ["Your account is suspended"]
    assert REASON in str(messages[0])
    assert [await restore(alice), await restore(alice)] == [True, False]
    entries = (await alice.get("/v1/account/audit?limit=2")).json()["items"]
    assert [(each["action"], each["about"]) for each in entries] == [
        ("account.restored", {}),
        ("account.suspended", {"reason": REASON}),
    ]
    assert await suspended_accounts.find_reason(conn, alice.account.id, alice.account.sandbox_id) is None


async def test_mail_that_waits_is_not_sent(alice: Person, database: Database, settings: Settings) -> None:
    keyring = alice.service.api.state.keyring
    async with database.transaction() as conn:
        waiting = await mail.send(
            conn,
            keyring=keyring,
            account_id=alice.account.id,
            to="eve@example.net",
            template=EmailReplaced(new_address_masked="a***@example.org"),
        )
    await suspend(alice)
    assert await Worker(database, settings).list_emails("eve@example.net") == []
    async with database.connection() as conn:
        found = await mail.find_message(conn, account_id=alice.account.id, message_id=waiting)
    assert found is not None
    assert found.status == "suppressed"


async def test_jobs_wait_until_the_account_is_restored(
    alice: Person, conn: Conn, database: Database, settings: Settings
) -> None:
    worker = Worker(database, settings)
    await worker.work()
    await suspend(alice)
    job: dict[str, Any] = {"account_id": str(alice.account.id), "key_id": str(alice.account.id), "replaced_id": ""}
    await queue.defer(conn, keys.MAIL_NEW_KEY, once="held", **job)
    await worker.work()
    waits = "SELECT args ->> 'account_id', scheduled_at > now() FROM procrastinate_jobs WHERE queueing_lock = %s"
    found = await (await conn.execute(waits, ["held"])).fetchall()

    assert found == [(str(alice.account.id), True)]


async def test_the_timeline_of_invoices_stops(alice: Person, database: Database) -> None:
    await make_invoice(database, account_id=alice.account.id)
    await suspend(alice)
    clock.move(timedelta(days=40))
    assert await invoices.advance(database) == 0
    await restore(alice)
    # One step, not all that were missed.
    assert await invoices.advance(database) == 1


async def test_a_calendar_is_refused(dana: Person, anyone: Client) -> None:
    link = (await dana.post("/v1/portfolio/renewals/calendar")).json()["url"]
    assert (await anyone.get(link)).status_code == 200
    await suspend(dana)

    assert (await anyone.get(link)).status_code == 400
