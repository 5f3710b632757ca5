"""Complete listings that suddenly lack many domains of a connection."""

import pytest

from builders.demo.registrars.fake import FakeRegistrar, FakeServer, Fault
from builders.kit.events import dispatcher
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from builders.portfolio.registrars.listings import Drop, decide_drop
from builders.portfolio.registrars.providers import ADAPTERS
from tests.cast import Person
from tests.portfolio.domains.make import add
from tests.portfolio.registrars.make import REGISTRARS, connect, database_of
from tests.portfolio.registrars.reconcile_make import finding, named, report
from tests.portfolio.registrars.sync import INVENTORY, SYNC, Json, fake_of, held, ok, run_parts, start, sync, work
from tests.portfolio.registrars.test_drift import drifts

NAMES = [f"d{number:02}.com" for number in range(20)]


async def part_of(person: Person, worker: Settings, **query: object) -> Json:
    [part] = (await sync(person, worker, **query))["providers"]
    found: Json = part
    return found


def drop(fake: FakeRegistrar, count: int) -> None:
    """Let the registrar hold all but the first domains."""
    fake.account.domains = [held(name) for name in NAMES[count:]]


async def missing(person: Person) -> list[str]:
    listed = ok(await person.get(INVENTORY))["items"]
    return [each["domain"] for each in listed if each["missing_since"] is not None]


async def suspected(person: Person) -> list[str]:
    listed = ok(await person.get(INVENTORY))["items"]
    return [each["domain"] for each in listed if each["suspected_since"] is not None]


async def connection_of(person: Person) -> Json:
    [item] = [each for each in ok(await person.get(REGISTRARS))["items"] if each["connected"]]
    found: Json = item
    return found


async def synced(
    person: Person, fakes: FakeServer, worker: Settings, provider: str = "spaceship"
) -> FakeRegistrar:
    """Return the fake of a connection that was synced."""
    fake = fake_of(provider, *NAMES)
    await connect(person, fake, fakes)
    await sync(person, worker)
    return fake


@pytest.mark.parametrize("provider", sorted(ADAPTERS))
async def test_a_suspicious_drop_is_held_back_until_the_next_complete_listing_says_the_same(
    alice: Person, fakes: FakeServer, worker: Settings, provider: str
) -> None:
    fake = await synced(alice, fakes, worker, provider)
    drop(fake, 12)
    part = await part_of(alice, worker)
    assert (part["state"], part["missing"], part["suspicious_drop"]["domains"]) == ("completed", 0, 12)
    assert (await missing(alice), await suspected(alice)) == ([], NAMES[:12])
    part = await part_of(alice, worker)
    assert (part["state"], part["missing"], part["suspicious_drop"]) == ("completed", 12, None)
    assert (await missing(alice), await suspected(alice)) == (NAMES[:12], [])


async def test_the_run_the_connection_and_the_report_show_a_drop_and_what_to_do(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = await synced(alice, fakes, worker)
    before = await connection_of(alice)
    assert before["suspicious_drop"] is None
    drop(fake, 12)
    part, connection = await part_of(alice, worker), await connection_of(alice)
    for shown in (part["suspicious_drop"], connection["suspicious_drop"]):
        assert (shown["code"], shown["domains"]) == ("suspicious_drop", 12)
        assert "POST /v1/portfolio/registrars/sync?provider=spaceship&confirm_drop=true" in shown["next_action"]
    assert connection["last_sync_at"] == before["last_sync_at"]  # of the last complete listing
    found = await report(alice, category="suspicious_drop")
    assert named(found) == [("high", "suspicious_drop", None)]
    assert "12 domains" in finding(found, "suspicious_drop")["message"]
    action = finding(found, "suspicious_drop")["suggested_action"]
    assert (action["method"], action["path"]) == ("POST", f"{SYNC}?provider=spaceship")
    await part_of(alice, worker)
    assert (await connection_of(alice))["suspicious_drop"] is None
    assert named(await report(alice, category="suspicious_drop")) == []


async def test_a_drop_is_published_once_and_its_domains_only_when_it_is_confirmed(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = await synced(alice, fakes, worker)
    for name in NAMES[:12]:
        await add(alice, name, registrar="Spaceship")
    await sync(alice, worker)
    drop(fake, 12)
    for _ in range(2):
        await sync(alice, worker)
        async with database_of(alice).transaction() as conn:
            await dispatcher.dispatch(conn)
        await work(alice, worker)
    held_back, confirmed = await drifts(alice)
    assert held_back["by_category"] == {"suspicious_drop": 1}
    assert confirmed["by_category"] == {"missing_at_registrar": 12}


async def test_a_drop_of_nine_domains_or_of_a_tenth_is_not_held_back(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = await synced(alice, fakes, worker)
    drop(fake, 9)
    assert (await part_of(alice, worker))["missing"] == 9
    assert decide_drop(unlisted=10, repeated=0, suspected=0, had=100, is_accepted=False).missing == 10
    assert decide_drop(unlisted=10, repeated=0, suspected=0, had=99, is_accepted=False).held_back == 10


async def test_domains_that_are_listed_again_end_the_suspicion(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = await synced(alice, fakes, worker)
    drop(fake, 12)
    await sync(alice, worker)
    drop(fake, 0)
    part = await part_of(alice, worker)
    assert (part["missing"], part["suspicious_drop"]) == (0, None)
    assert (await missing(alice), await suspected(alice)) == ([], [])


async def test_a_listing_that_lacks_other_domains_confirms_nothing(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = await synced(alice, fakes, worker)
    drop(fake, 12)
    await sync(alice, worker)
    fake.account.domains = [held(name) for name in NAMES[:1] + NAMES[14:]]  # one is back, two more are not
    part = await part_of(alice, worker)
    assert (part["missing"], part["suspicious_drop"]["domains"]) == (0, 13)
    assert (await part_of(alice, worker))["missing"] == 13


async def test_a_second_drop_is_held_back_while_the_first_one_is_confirmed(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    names = [f"e{number:02}.com" for number in range(40)]
    fake = fake_of("spaceship", *names)
    await connect(alice, fake, fakes)
    await sync(alice, worker)
    fake.account.domains = [held(name) for name in names[12:]]
    await sync(alice, worker)
    fake.account.domains = [held(name) for name in names[25:]]
    part = await part_of(alice, worker)
    assert (part["missing"], part["suspicious_drop"]["domains"]) == (12, 13)
    assert (await missing(alice), await suspected(alice)) == (names[:12], names[12:25])


async def test_an_incomplete_listing_confirms_nothing(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    fake = await synced(alice, fakes, worker)
    drop(fake, 12)
    await sync(alice, worker)
    fake.account.faults.extend([Fault.SERVER_ERROR] * 3)
    assert (await part_of(alice, worker))["state"] == "failed"
    assert (await missing(alice), await suspected(alice)) == ([], NAMES[:12])
    assert (await connection_of(alice))["suspicious_drop"]["domains"] == 12


async def test_a_listing_of_another_account_is_a_suspicious_drop(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = await synced(alice, fakes, worker)
    fake.account.domains = [held(f"other{number:03}.com") for number in range(300)]
    part = await part_of(alice, worker)
    assert (part["new"], part["missing"], part["suspicious_drop"]["domains"]) == (300, 0, 20)


async def test_a_member_confirms_a_drop_at_once(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    fake = await synced(alice, fakes, worker)
    drop(fake, 12)
    planned = await part_of(alice, worker, provider="spaceship", dry_run=True)
    assert (planned["missing"], planned["suspicious_drop"]["domains"]) == (0, 12)
    part = await part_of(alice, worker, provider="spaceship", confirm_drop=True)
    assert (part["missing"], part["suspicious_drop"]) == (12, None)
    assert await missing(alice) == NAMES[:12]


async def test_a_confirmation_names_the_registrar(alice: Person) -> None:
    answer = await alice.post(SYNC, params={"confirm_drop": True})
    assert answer.status_code == 422
    [error] = answer.json()["detail"]
    assert (error["loc"], error["type"]) == (["query", "provider"], "provider_required")


async def test_a_dry_run_reports_what_the_next_sync_confirms(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = await synced(alice, fakes, worker)
    drop(fake, 12)
    await sync(alice, worker)
    assert (await part_of(alice, worker, dry_run=True))["missing"] == 12
    assert await missing(alice) == []


async def test_a_sync_that_is_continued_after_a_kill_counts_what_was_held_before(
    alice: Person, fakes: FakeServer, worker: Settings, outbound: Outbound, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = await synced(alice, fakes, worker)
    fake.account.domains = [held(f"other{number:03}.com") for number in range(300)]
    run = await start(alice)

    class Killed(BaseException):
        """A worker was killed."""

    async def killed(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("builders.portfolio.registrars.inventory_sync.close_listing", killed)
        with pytest.raises(Killed):
            await run_parts(alice, run, outbound)
    await run_parts(alice, run, outbound)
    assert await suspected(alice) == NAMES


def test_a_drop_is_decided_by_what_the_connection_had() -> None:
    assert decide_drop(unlisted=30, repeated=30, suspected=30, had=100, is_accepted=False) == Drop(
        missing=30, held_back=0
    )
    assert decide_drop(unlisted=30, repeated=29, suspected=30, had=100, is_accepted=False) == Drop(
        missing=0, held_back=30
    )
