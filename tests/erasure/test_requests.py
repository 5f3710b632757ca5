"""The erasure that a person requests: who may, its time and emails, and how it is cancelled."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from builders.erasure import jobs, requests
from builders.erasure.records import KNOWN_FOR, REMIND_AFTER, REMIND_BEFORE, WAIT
from builders.identity import accounts
from builders.identity.records import Preset
from builders.kit.callers import FRESH_FOR
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from tests.browser import ACCEPT
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.erasure.test_names import claimed
from tests.identity.oauth.test_suspensions import suspend
from tests.invoices.make import make_invoice
from tests.plans.approval.make import ALWAYS, appoint, list_audited, set_policy
from tests.plans.make import suspend_aliases
from tests.portfolio.team.make import code, of, reason
from tests.worker import Worker

PATH = "/v1/account/erasure"
SUBJECT = "is to be erased"
Json = dict[str, Any]


async def ask(person: Person, owner: Person | None = None) -> Json:
    """Request the erasure in a fresh session, or confirm that of the owner."""
    async with person.browser() as browser:
        answer = await browser.post(PATH, headers=of(owner) if owner else {})
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


async def read(person: Person) -> Json:
    found: Json = (await person.get(PATH)).json()
    return found


async def advance(person: Person) -> None:
    """Do what the worker does for the account."""
    state = person.service.api.state
    async with state.database.transaction() as conn:
        await requests.advance(conn, keyring=state.keyring, settings=state.settings, account_id=person.account.id)


async def wait_until_end(person: Person) -> None:
    """Let the days pass, with the emails."""
    for days in (REMIND_AFTER, WAIT - REMIND_AFTER - REMIND_BEFORE, REMIND_BEFORE):
        clock.move(days)
        await advance(person)


async def change_address(person: Person) -> str:
    """Give the account another address, as its confirmation does; return it."""
    email = f"new-{ids.new().hex}@example.net"
    async with person.service.api.state.database.transaction() as conn:
        await accounts.change_email(conn, account_id=person.account.id, email=email)
    return email


class Mails:
    """The emails about erasures."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    async def count(self, address: str) -> int:
        return len(await self.links(address))

    async def links(self, address: str) -> list[str]:
        """Return the paths of the buttons of the emails."""
        found = await self._worker.list_emails(address)
        texts = [str(each) for each in found if SUBJECT in each["subject"]]
        return [re.findall(rf"{PATH}/cancel\?token=[\w.-]+", each)[0] for each in texts]


@pytest.fixture
def mails(database: Database, settings: Settings) -> Mails:
    return Mails(Worker(database, settings))


@pytest.fixture
async def browser(alice: Person) -> AsyncIterator[Client]:
    async with alice.browser() as client:
        yield client


@pytest.fixture
async def charlie(people: MakePerson) -> Person:
    return await people("charlie", Preset.DOMAINER_FULL)


async def is_erasing(person: Person, conn: Conn) -> bool:
    return await accounts.find_erasing(conn, account_id=person.account.id) is not None


@pytest.mark.parametrize("how", ["key", "test key", "token", "support"])
@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_only_a_person_decides(alice: Person, how: str, method: str) -> None:
    match how:
        case "key":
            answer = await alice.request(method, PATH)
        case "test key":
            answer = await alice.test.request(method, PATH)
        case "token":
            async with Client(alice.service, token=(await alice.sign_in()).token) as client:
                answer = await client.request(method, PATH)
        case _:
            support = await alice.admit_support(may_write=True)
            async with Client(alice.service, cookie=support.token) as client:
                client.headers["Sec-Fetch-Site"] = "same-origin"
                answer = await client.request(method, PATH)
    assert code(answer) == (403, "person_required")


async def test_the_session_is_fresh(browser: Client) -> None:
    clock.move(FRESH_FOR + timedelta(minutes=1))

    assert code(await browser.post(PATH)) == (401, "fresh_sign_in_required")


async def test_it_waits_14_days_while_the_account_works(alice: Person, conn: Conn) -> None:
    found = await ask(alice)
    assert (found["state"], found["missing"]) == ("waiting", 0)
    clock.move(WAIT - timedelta(minutes=1))
    await advance(alice)
    assert (await read(alice))["state"] == "waiting"
    assert not await is_erasing(alice, conn)


async def test_a_second_request_changes_nothing(alice: Person, mails: Mails) -> None:
    first = await ask(alice)
    clock.move(timedelta(hours=1))
    assert await ask(alice) == first
    assert await mails.count(alice.account.email) == 1


async def test_it_is_mailed_at_once_after_7_days_and_a_day_before(alice: Person, mails: Mails, conn: Conn) -> None:
    await ask(alice)
    counts = [await mails.count(alice.account.email)]
    for days in (REMIND_AFTER - REMIND_BEFORE, REMIND_BEFORE, timedelta(days=5), REMIND_BEFORE):
        clock.move(days)
        await advance(alice)
        counts.append(await mails.count(alice.account.email))
    assert counts == [1, 1, 2, 2, 3]
    clock.move(REMIND_BEFORE)
    await advance(alice)
    assert await is_erasing(alice, conn)


async def test_it_begins_a_day_after_its_last_email_when_the_worker_stood_still(
    alice: Person, mails: Mails, conn: Conn
) -> None:
    await ask(alice)
    clock.move(3 * WAIT)
    await advance(alice)
    await advance(alice)
    await advance(alice)
    assert await mails.count(alice.account.email) == 3
    assert not await is_erasing(alice, conn)
    clock.move(REMIND_BEFORE)
    await advance(alice)
    assert await is_erasing(alice, conn)


async def test_the_worker_finds_what_is_due(
    alice: Person, database: Database, settings: Settings, mails: Mails
) -> None:
    await ask(alice)
    clock.move(REMIND_AFTER)
    async with database.transaction() as conn:
        await queue.defer(conn, jobs.find_due, once="erasure.find_due", timestamp=0)
    await Worker(database, settings).work()
    assert await mails.count(alice.account.email) == 2


@pytest.mark.parametrize("at", [0, 1, 2])
async def test_each_email_cancels_it_without_signing_in(
    alice: Person, anyone: Client, mails: Mails, at: int
) -> None:
    await ask(alice)
    for days in (REMIND_AFTER, WAIT - REMIND_AFTER - REMIND_BEFORE)[:at]:
        clock.move(days)
        await advance(alice)
    link = (await mails.links(alice.account.email))[-1]
    page = await anyone.get(link, headers={"Accept": ACCEPT})
    assert (page.status_code, "Keep the account?" in page.text) == (200, True)
    assert (await read(alice))["state"] == "waiting"  # the link alone changes nothing
    answer = await anyone.post(f"{PATH}/cancel", data={"token": link.partition("=")[2]})
    assert answer.status_code == 200, answer.text
    assert (await read(alice))["state"] == "none"


async def test_a_used_or_foreign_link_is_refused(alice: Person, bob: Person, anyone: Client, mails: Mails) -> None:
    await ask(alice)
    await ask(bob)
    token = (await mails.links(alice.account.email))[0].partition("=")[2]
    named, _, proof = token.rpartition(".")
    request_id = named.partition(".")[2]
    for wrong in (f"{bob.account.id}.{request_id}.{proof}", f"{named}.{proof[:-1]}x", "x" * 20, f"..{proof}"):
        assert code(await anyone.post(f"{PATH}/cancel", data={"token": wrong})) == (400, "token_invalid")
    assert (await anyone.post(f"{PATH}/cancel", data={"token": token})).status_code == 200
    await ask(alice)
    assert code(await anyone.get(f"{PATH}/cancel?token={token}")) == (400, "token_invalid")
    assert [(await read(each))["state"] for each in (alice, bob)] == ["waiting", "waiting"]


async def test_a_former_address_of_30_days_gets_the_emails(
    alice: Person, mails: Mails, database: Database, settings: Settings
) -> None:
    oldest = alice.account.email
    former = await change_address(alice)
    await Worker(database, settings).work()
    clock.move(KNOWN_FOR - timedelta(days=2))
    now = await change_address(alice)
    await Worker(database, settings).work()
    clock.move(timedelta(days=3))
    await ask(alice)

    assert [await mails.count(each) for each in (oldest, former, now)] == [0, 1, 1]
    await old_rows.delete(database, "erasure_addresses")


async def test_a_changed_address_starts_the_time_again_and_former_emails_still_cancel(
    alice: Person, anyone: Client, mails: Mails, database: Database, settings: Settings
) -> None:
    before = await ask(alice)
    [first] = await mails.links(alice.account.email)
    clock.move(timedelta(days=10))
    now = await change_address(alice)
    await Worker(database, settings).work()
    after = await read(alice)
    assert after["due_at"] > before["due_at"]
    assert [await mails.count(each) for each in (alice.account.email, now)] == [2, 1]
    assert (await anyone.post(f"{PATH}/cancel", data={"token": first.partition("=")[2]})).status_code == 200
    assert (await read(alice))["state"] == "none"


async def test_as_many_deciders_as_the_policy_confirm_it(alice: Person, charlie: Person, mails: Mails) -> None:
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, approvals=2, own_plans="allow", deciders=[str(charlie.account.id)])
    asked = await ask(alice)
    assert (asked["state"], asked["missing"], asked["due_at"]) == ("unconfirmed", 1, None)
    confirmed = await ask(charlie, alice)
    assert (confirmed["state"], confirmed["missing"]) == ("waiting", 0)
    assert [await mails.count(each.account.email) for each in (alice, charlie)] == [2, 2]


async def test_the_account_itself_does_not_count_where_the_policy_says_so(alice: Person, charlie: Person) -> None:
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, own_plans="refuse", deciders=[str(charlie.account.id)])

    assert (await ask(alice))["state"] == "unconfirmed"
    assert (await ask(charlie, alice))["state"] == "waiting"


async def test_one_that_too_few_confirm_ends_after_a_day(
    alice: Person, charlie: Person, database: Database
) -> None:
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, own_plans="refuse", deciders=[str(charlie.account.id)])
    await ask(alice)
    clock.move(timedelta(hours=25))
    assert (await read(alice))["state"] == "none"
    async with charlie.browser() as browser:
        assert code(await browser.post(PATH, headers=of(alice))) == (403, "forbidden_role")
    await old_rows.delete(database, "erasure_requests")


async def test_a_decider_cancels_it(alice: Person, charlie: Person, conn: Conn) -> None:
    await appoint(alice, charlie)
    await ask(alice)
    async with charlie.browser() as browser:
        answer = await browser.delete(PATH, headers=of(alice))
    assert answer.json()["state"] == "none"
    actions = [action for action, _, _ in await list_audited(conn, alice, "^erasure")]
    assert actions == ["erasure.confirmed", "erasure.cancelled"]


async def test_a_decider_does_not_request_it(alice: Person, charlie: Person) -> None:
    await appoint(alice, charlie)
    async with charlie.browser() as browser:
        assert code(await browser.post(PATH, headers=of(alice))) == (403, "forbidden_role")


async def test_a_stranger_learns_nothing(alice: Person, bob: Person) -> None:
    await ask(alice)
    async with bob.browser() as browser:
        for method in ("GET", "POST", "DELETE"):
            answer = await browser.request(method, PATH, headers=of(alice))
            assert code(answer) == (404, "portfolio_not_found")


async def test_a_new_decider_waits(alice: Person, browser: Client) -> None:
    await change_address(alice)

    assert reason(await browser.post(PATH)) == (403, "person_required", "recent_change")


async def test_an_open_invoice_is_shown_and_settled_first(alice: Person, database: Database) -> None:
    invoice = await make_invoice(database, account_id=alice.account.id)
    assert (await read(alice))["unsettled"] == [f"The invoice {invoice.number} is open."]
    async with alice.browser() as browser:
        assert code(await browser.post(PATH)) == (409, "account_unsettled")


async def test_a_name_that_the_operator_suspended_is_settled_first(
    alice: Person, database: Database, tmp_path: Path, assets: Path
) -> None:
    domain = await claimed(alice, database, tmp_path, assets)
    async with database.transaction() as conn:
        await suspend_aliases(conn, alice, f"ada@{domain}")
    assert (await read(alice))["unsettled"] == [f"The operator suspended the name ada@{domain}."]


async def test_what_is_open_at_its_end_delays_it(alice: Person, database: Database, conn: Conn) -> None:
    await ask(alice)
    await make_invoice(database, account_id=alice.account.id)
    await wait_until_end(alice)
    assert not await is_erasing(alice, conn)
    await conn.execute(
        "UPDATE invoices_invoices SET status = 'void', voided_at = now() WHERE account_id = %s", [alice.account.id]
    )
    clock.move(timedelta(days=1))
    await advance(alice)
    assert await is_erasing(alice, conn)


async def test_a_suspended_account_is_not_erased(alice: Person, conn: Conn) -> None:
    await ask(alice)
    await suspend(alice)
    await wait_until_end(alice)

    assert not await is_erasing(alice, conn)


async def test_a_cancelled_one_never_ends(alice: Person, conn: Conn) -> None:
    await ask(alice)
    async with alice.browser() as browser:
        assert (await browser.delete(PATH)).json()["state"] == "none"
    await wait_until_end(alice)

    assert not await is_erasing(alice, conn)
