"""The operator's list of leads and their requests."""

from datetime import timedelta
from urllib.parse import urlsplit

import pytest

from builders.kit.db.connections import Database
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.leads import lifecycle
from builders.leads.records import Interest, Lead, LeadFilter, Status
from tests.cast import Client
from tests.leads.make import Runner, confirm, submit


async def listed(database: Database, **filters: object) -> list[Lead]:
    """Return the matching leads."""
    async with database.connection() as conn:
        return list(await lifecycle.list_newest(conn, filters=LeadFilter(**filters), limit=1000))  # type: ignore[arg-type] # by name


@pytest.fixture
def source() -> str:
    """Return a source of this test alone."""
    return f"s-{ids.new().hex}"


async def test_filters_match_all_requests_of_a_lead(
    anyone: Client, runner: Runner, database: Database, source: str, email: str, other: str
) -> None:
    await submit(anyone, email, source=source, interest="alias")
    await submit(anyone, other, source=source, interest="mailbox")
    await confirm(anyone, await runner.token(email))
    clock.move(timedelta(hours=1))
    before = clock.now()
    await submit(anyone, email, source=f"{source[:30]}-2", interest="domain")
    await runner.run()

    assert [each.email for each in await listed(database, source=source)] == [other, email]
    assert [each.email for each in await listed(database, source=source, status=Status.CONFIRMED)] == [email]
    assert [each.email for each in await listed(database, source=source, interest=Interest.MAILBOX)] == [other]
    assert await listed(database, source=source, since=before) == []
    [later] = await listed(database, source=f"{source[:30]}-2", since=before)
    assert (later.email, later.interest, later.proved_at) == (email, "domain", None)


async def test_all_leads_are_read_page_by_page(
    anyone: Client, runner: Runner, database: Database, source: str
) -> None:
    sent = [f"{ids.new().hex}@example.net" for _ in range(5)]
    for each in sent:
        await submit(anyone, each, source=source)
        await runner.run()

    pages = lifecycle.list_all(database, filters=LeadFilter(source=source), page_size=2)
    assert [each.email async for each in pages] == sent[::-1]
    assert [each async for each in lifecycle.list_all(database, filters=LeadFilter(source="nowhere"))] == []


async def test_the_link_of_an_export_unsubscribes(
    anyone: Client, runner: Runner, settings: Settings, keyring: Keyring, email: str
) -> None:
    await submit(anyone, email)
    await confirm(anyone, await runner.token(email))
    lead = await runner.lead(email)
    assert lead is not None
    link = lifecycle.unsubscribe_link(keyring, settings=settings, lead=lead)
    assert (await anyone.post(urlsplit(link).path)).status_code == 200

    assert await runner.status(email) == "unsubscribed"
