"""Days at registrars: the time of day decides nothing, and days are those of the account."""

from datetime import UTC, datetime
from typing import Any

import pytest

from builders.demo.registrars.fake import FakeServer
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.registrars.make import connect as connect_fake
from tests.portfolio.registrars.reconcile_make import connect, hold, named, own, report
from tests.portfolio.registrars.sync import INVENTORY, Json, fake_of, held, ok, sync

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
IMPORT = "/v1/portfolio/import"
TOKYO, KIRITIMATI, ANGELES = "Asia/Tokyo", "Pacific/Kiritimati", "America/Los_Angeles"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.fixture(autouse=True)
def present() -> None:
    clock.move(NOON - clock.now())


async def live_in(owner: Person, zone: str) -> None:
    ok(await owner.patch("/v1/me", json={"timezone": zone}))


@pytest.mark.parametrize(
    ("zone", "known", "held_at", "expected"),
    [
        ("UTC", "2027-03-05T00:00:00Z", "2027-03-05T23:59:59Z", None),
        ("UTC", "2027-03-05T00:00:00Z", "2027-03-06T00:30:00Z", ("warn", 1)),
        ("UTC", "2027-03-05T20:00:00Z", "2027-03-04T21:00:00Z", None),  # within a day, as registrars round
        ("Etc/GMT+12", "2027-03-05T00:00:00Z", "2027-03-06T11:00:00Z", None),  # still the 5th there
        ("Etc/GMT+12", "2027-03-05T00:00:00Z", "2027-03-06T12:00:00Z", ("warn", 1)),
        (KIRITIMATI, "2027-03-05T00:00:00Z", "2027-03-03T23:00:00Z", ("high", -1)),
    ],
)
async def test_times_of_one_day_are_no_difference(
    alice: Person, zone: str, known: str, held_at: str, expected: tuple[str, int] | None
) -> None:
    await live_in(alice, zone)
    await own(alice, "a.com", expires_at=at(known))
    await hold(alice, await connect(alice), "a.com", expires_at=at(held_at))
    found = [(each["severity"], each["delta_days"]) for each in (await report(alice))["findings"]]
    assert found == ([] if expected is None else [expected])


@pytest.mark.parametrize(
    ("zone", "expires_at", "severity"),
    [
        ("UTC", "2026-12-22T23:59:59Z", "high"),  # day 30
        ("UTC", "2026-12-23T00:00:00Z", "warn"),
        (KIRITIMATI, "2026-12-23T00:00:00Z", "high"),  # today is the 23rd of November there
        (ANGELES, "2026-12-23T07:00:00Z", "high"),
        (ANGELES, "2026-12-23T08:30:00Z", "warn"),
    ],
)
async def test_near_the_expiry_is_a_number_of_days(
    alice: Person, zone: str, expires_at: str, severity: str
) -> None:
    await live_in(alice, zone)
    await own(alice, "a.com", expires_at=at(expires_at))
    await hold(alice, await connect(alice), "a.com", expires_at=at(expires_at), auto_renew=False)
    assert named(await report(alice)) == [(severity, "auto_renew_mismatch", "a.com")]


@pytest.mark.parametrize(
    ("zone", "expires_at", "status"),
    [
        ("UTC", "2026-11-22T00:00:00Z", "transferred_out"),  # today
        ("UTC", "2026-11-21T23:00:00Z", "dropped"),
        (KIRITIMATI, "2026-11-22T00:00:00Z", "dropped"),  # yesterday there
        (ANGELES, "2026-11-22T09:00:00Z", "transferred_out"),
    ],
)
async def test_a_missing_domain_has_expired_after_its_day(
    alice: Person, zone: str, expires_at: str, status: str
) -> None:
    await live_in(alice, zone)
    await connect(alice)
    await own(alice, "a.com", expires_at=at(expires_at))
    [found] = (await report(alice))["findings"]
    assert (found["category"], found["suggested_action"]["body"]) == ("missing_at_registrar", {"status": status})


@pytest.mark.parametrize(("zone", "expected"), [("UTC", True), (KIRITIMATI, True), ("Etc/GMT+12", False)])
async def test_a_domain_has_not_expired_on_its_day(alice: Person, zone: str, expected: bool) -> None:
    await live_in(alice, zone)
    expires_at = at("2026-11-21T00:00:00Z")  # which is today where it is still the 21st
    clock.move(at("2026-11-22T11:30:00Z") - clock.now())
    await own(alice, "a.com", expires_at=expires_at)
    await hold(alice, await connect(alice, listed_h=0), "a.com", expires_at=expires_at)
    assert bool((await report(alice, category="expired_at_registrar"))["findings"]) is expected


@pytest.mark.parametrize(
    ("zone", "known", "said", "outcome", "after"),
    [
        ("UTC", "2027-03-05T14:00:00Z", "2027-03-05", "unchanged", "2027-03-05T14:00:00Z"),
        ("UTC", "2027-03-05T14:00:00Z", "2027-03-05T18:30:00Z", "unchanged", "2027-03-05T14:00:00Z"),
        ("UTC", "2027-03-05", "2027-03-05T18:30:00Z", "unchanged", "2027-03-05T00:00:00Z"),
        ("UTC", "2027-03-05T14:00:00Z", "2027-03-06", "updated", "2027-03-06T00:00:00Z"),
        (TOKYO, "2027-03-05T20:00:00Z", "2027-03-06", "unchanged", "2027-03-05T20:00:00Z"),  # the 6th there
        (TOKYO, "2027-03-05T20:00:00Z", "2027-03-05", "unchanged", "2027-03-05T20:00:00Z"),  # of who counts in UTC
        (TOKYO, "2027-03-05T20:00:00Z", "2027-03-05T10:00:00Z", "updated", "2027-03-05T10:00:00Z"),
    ],
)
@pytest.mark.parametrize("mode", ["merge", "overwrite"])
async def test_an_import_changes_days(
    alice: Person, mode: str, zone: str, known: str, said: str, outcome: str, after: str
) -> None:
    await live_in(alice, zone)
    await add(alice, "a.com", expires_at=known)
    rows = {"rows": [{"domain": "a.com", "expires_at": said}], "on_conflict": mode}
    imported = ok(await alice.post(IMPORT, json=rows))
    assert [each["outcome"] for each in imported["results"]] == [outcome]
    assert ok(await alice.get(f"{DOMAINS}/a.com"))["expires_at"] == after


async def inventory_row(owner: Person, *, expires_at: str) -> Json:
    row: dict[str, Any] = {"domain": "a.com", "expires": expires_at, "registered": "2020-03-01"}
    body = {"provider": "manual:corner", "rows": [row]}
    [result] = ok(await owner.post(f"{INVENTORY}/import", json=body))["results"]
    [listed] = ok(await owner.get(INVENTORY))["items"]
    return {"outcome": result["outcome"], "expires_at": listed["expires_at"]}


async def test_an_imported_inventory_changes_days(alice: Person) -> None:
    first = "2027-03-05T14:00:00Z"
    assert await inventory_row(alice, expires_at=first) == {"outcome": "created", "expires_at": first}
    for same in (first, "2027-03-05", "2027-03-05T23:59:59Z"):
        assert await inventory_row(alice, expires_at=same) == {"outcome": "unchanged", "expires_at": first}
    later = "2027-03-06T00:00:00Z"
    assert await inventory_row(alice, expires_at="2027-03-06") == {"outcome": "updated", "expires_at": later}


@pytest.mark.usefixtures("calls_fakes")
async def test_a_sync_reports_changed_days(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    fake = fake_of("porkbun", held("a.com", expires_at=at("2027-02-28T12:00:00Z")))
    await connect_fake(alice, fake, fakes)
    await add(alice, "a.com", expires_at="2027-02-28")
    run = await sync(alice, worker)
    assert [each["field"] for each in run["changes"] if each["field"] == "expires_at"] == []
    fake.account.domains[0].expires_at = at("2027-02-28T23:59:59Z")
    assert (await sync(alice, worker))["changes"] == []
    fake.account.domains[0].expires_at = at("2028-02-28T23:59:59Z")
    assert [each["field"] for each in (await sync(alice, worker))["changes"]] == ["expires_at"]
