"""Lists that a registrar did not confirm, and names that an account has lost."""

import html
import re
from datetime import UTC, datetime

import pytest

from builders.demo.registrars.fake import FakeServer
from builders.kit.process.settings import Settings
from builders.portfolio.registrars.providers import ADAPTERS
from tests.cast import Person
from tests.console.visitor import Visitor
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.registrars.make import REGISTRARS, connect, database_of
from tests.portfolio.registrars.reconcile_make import named, report
from tests.portfolio.registrars.sync import EXPIRES, INVENTORY, Json, fake_of, held, ok, sync

PAST = held("x.com").created_at
# GoDaddy lists these for names that are no longer of the account.
LOST = (
    "CANCELLED",
    "CANCELLED_HELD",
    "CANCELLED_TRANSFER",
    "CONFISCATED",
    "EXPIRED_REASSIGNED",
    "FAILED_REGISTRATION",
    "FAILED_TRANSFER_IN",
    "REVERTED",
    "TRANSFERRED_OUT",
    "UPDATED_OWNERSHIP",
)


async def test_every_page_of_dynadot_is_listed(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    names = [f"d{number:03}.com" for number in range(250)]
    await connect(alice, fake_of("dynadot", *names), fakes)
    await add(alice, "d249.com", registrar="Dynadot")
    [part] = (await sync(alice, worker))["providers"]
    assert (part["state"], part["seen"], part["matched"]) == ("completed", 250, 1)
    assert {each["category"] for each in (await report(alice))["findings"]} == {"missing_in_portfolio"}


async def test_a_list_that_ends_before_its_total_marks_nothing_missing(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = fake_of("namesilo", "a.com", "b.com", "c.com")
    await connect(alice, fake, fakes)
    await sync(alice, worker)
    fake.account.most_rows, fake.account.is_truncated = 3, True  # no page has c.com, and the total counts it
    [part] = (await sync(alice, worker))["providers"]
    assert (part["state"], part["error"]["code"], part["missing"]) == ("failed", "provider_list_incomplete", 0)
    assert "It listed 2 domains and names 3 as total." in part["error"]["hint"]
    listed = ok(await alice.get(INVENTORY))
    assert [each["missing_since"] for each in listed["items"]] == [None] * len(listed["items"])


async def test_a_row_without_a_readable_name_leaves_the_list_incomplete(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = fake_of("porkbun", "a.com", "b.com")
    await connect(alice, fake, fakes)
    await sync(alice, worker)
    fake.account.domains = [held("a.com"), held("")]
    [part] = (await sync(alice, worker))["providers"]
    assert (part["state"], part["error"]["code"], part["missing"]) == ("failed", "provider_list_incomplete", 0)
    assert part["error"]["hint"].startswith("1 of its items could not be read: item 2.")
    assert [each["item"] for each in part["unread"]] == ["item 2"]
    assert ok(await alice.get(INVENTORY))["snapshots"][0]["complete"] is False


async def test_the_first_list_is_kept_when_a_row_has_no_readable_name(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = fake_of("porkbun", "a.com", "b.com")
    fake.account.domains.append(held(""))
    await connect(alice, fake, fakes)
    [part] = (await sync(alice, worker))["providers"]
    assert (part["state"], part["error"]["code"], part["new"]) == ("failed", "provider_list_incomplete", 2)
    assert "What was listed is kept" in part["error"]["hint"]
    assert [each["domain"] for each in ok(await alice.get(INVENTORY))["items"]] == ["a.com", "b.com"]
    assert [each["reason"] for each in (await report(alice))["not_checked"]] == ["failed"]


async def test_a_value_that_cannot_be_read_is_named_and_changes_nothing(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = fake_of("porkbun", "a.com", "b.com")
    await connect(alice, fake, fakes)
    await sync(alice, worker)
    fake.account.domains[0].expires_at = datetime(9999, 12, 31, tzinfo=UTC)
    run = await sync(alice, worker)
    [part] = run["providers"]
    assert (part["state"], part["error"], part["missing"]) == ("completed", None, 0)
    assert part["unread"] == [{"item": "a.com", "reason": "Cannot be read: expires_at."}]
    listed = ok(await alice.get(INVENTORY))
    assert [each["expires_at"] for each in listed["items"]] == ["2027-02-28T12:00:00Z"] * 2
    connection = await connection_of(alice)
    detail = "Some values of its list cannot be read, and change nothing: a.com."
    assert (connection["status"], connection["status_detail"]) == ("ok", detail)
    await assert_shown(alice, run, "a.com: Cannot be read: expires_at.", detail)
    fake.account.domains[0].expires_at = EXPIRES
    assert (await sync(alice, worker))["providers"][0]["unread"] == []
    assert (await connection_of(alice))["status_detail"] is None


async def test_a_row_that_cannot_be_read_is_named_and_never_stops_the_others(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    name = "x" * 60 + ".com"  # which no label can be
    fake = fake_of("porkbun", "a.com", held(f"{name}{'.com' * 60}"), "b.com")
    await connect(alice, fake, fakes)
    run = await sync(alice, worker)
    [part] = run["providers"]
    assert (part["state"], part["error"]["code"], part["new"]) == ("failed", "provider_list_incomplete", 2)
    [unread] = part["unread"]
    assert unread["item"].startswith(name)
    connection = await connection_of(alice)
    assert name in connection["status_detail"]
    assert connection["last_sync_at"] is None
    await assert_shown(alice, run, f"{unread['item']}: {unread['reason']}", name)
    [event] = await failed_syncs(alice)
    assert (event["code"], name in event["hint"]) == ("provider_list_incomplete", True)


async def failed_syncs(person: Person) -> list[Json]:
    """The data of the events from which notices are made."""
    async with database_of(person).connection() as conn:
        rows = await conn.execute(
            "SELECT data::jsonb FROM kit_outbox WHERE name = 'portfolio.sync.failed' AND account_id = %s",
            [person.account.id],
        )
        return [data for (data,) in await rows.fetchall()]


async def connection_of(person: Person) -> Json:
    found: Json = next(each for each in ok(await person.get(REGISTRARS))["items"] if each["connected"])
    return found


async def assert_shown(person: Person, run: Json, on_run: str, on_registrars: str) -> None:
    """Check that the pages of the run and of the connections have these texts."""
    async with Visitor(person, await person.sign_in()) as browser:
        page = await browser.open(f"/console/portfolio/runs/{run['run_id']}")
        assert on_run in html.unescape(page.text)
        for path in ("registrars", "connect?provider=porkbun&connection=default"):
            assert on_registrars in html.unescape((await browser.open(f"/console/portfolio/{path}")).text)


async def test_names_that_godaddy_no_longer_holds_raise_no_alarm(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    names = {f"{status.lower().replace('_', '-')}.com": status for status in LOST}
    lost = [held(name, state=status, expires_at=PAST) for name, status in names.items()]
    await connect(alice, fake_of("godaddy", *lost, "mine.com"), fakes)
    await add(alice, "mine.com", registrar="GoDaddy")
    for name in names:
        domain = await add(alice, name, registrar="GoDaddy")
        ok(await alice.patch(f"{DOMAINS}/{domain['id']}", json={"status": "dropped"}))
    await sync(alice, worker)
    assert named(await report(alice)) == []
    listed = ok(await alice.get(INVENTORY))["items"]
    assert {each["domain"]: each["status_raw"] for each in listed if each["status"] == "gone"} == names


async def test_names_that_godaddy_no_longer_holds_are_reported_as_missing_and_not_as_to_be_renewed(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    lost = held("auctioned.com", state="EXPIRED_REASSIGNED", expires_at=PAST)
    await connect(alice, fake_of("godaddy", lost), fakes)
    await add(alice, "auctioned.com", registrar="GoDaddy")
    await sync(alice, worker)
    assert named(await report(alice)) == [("high", "missing_at_registrar", "auctioned.com")]


async def test_a_name_that_was_lost_and_registered_again_is_held(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    rows = [held("again.com", state="active"), held("again.com", state="CANCELLED", expires_at=PAST)]
    await connect(alice, fake_of("godaddy", *rows), fakes)
    await sync(alice, worker)
    [found] = ok(await alice.get(INVENTORY))["items"]
    assert found["status"] == "active"


@pytest.mark.parametrize("provider", sorted(ADAPTERS))
def test_every_adapter_says_what_confirms_its_list(provider: str) -> None:
    assert re.search(r", [A-Z][a-z]+ 20\d\d\)$", ADAPTERS[provider].profile.list_end)
