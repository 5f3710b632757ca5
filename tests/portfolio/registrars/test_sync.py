"""Syncs with fakes of registrars, through HTTP."""

from builders.demo.registrars.fake import FakeServer, Fault
from builders.kit.process.settings import Settings
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.registrars.make import connect
from tests.portfolio.registrars.sync import INVENTORY, by_provider, fake_of, held, ok, sync


async def get(person: Person, domain: str) -> dict[str, object]:
    return ok(await person.get(f"{DOMAINS}/{domain}"))


async def test_updates_what_the_portfolio_has(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    fake = fake_of("porkbun", "a.com", held("b.com", auto_renew=False, locked=False), "not-mine.com")
    connection = await connect(alice, fake, fakes)
    await add(alice, "a.com", expires_at="2026-12-31T00:00:00Z", registrar="Elsewhere", locked=False)
    await add(alice, "b.com", auto_renew=True)
    await add(alice, "c.com", expires_at="2026-12-31T00:00:00Z")

    run = await sync(alice, worker)

    assert run["state"] == "completed"
    part = by_provider(run)["porkbun"]
    counts = {name: part[name] for name in ("seen", "matched", "updated", "unchanged", "new", "missing")}
    assert counts == {"seen": 3, "matched": 2, "updated": 2, "unchanged": 0, "new": 3, "missing": 0}
    changes = {(each["domain"], each["field"]): (each["from"], each["to"]) for each in run["changes"]}
    assert changes["a.com", "expires_at"] == ("2026-12-31T00:00:00Z", "2027-02-28T12:00:00Z")
    assert changes["b.com", "auto_renew"] == (True, False)
    assert ("a.com", "locked") not in changes
    a, b, c = [await get(alice, name) for name in ("a.com", "b.com", "c.com")]
    assert (a["expires_at"], a["expiry_source"], a["auto_renew"]) == ("2027-02-28T12:00:00Z", "registrar", True)
    assert (a["registrar"], a["locked"]) == ("Elsewhere", False)  # a member entered them
    assert (b["registrar"], b["locked"], b["connection_id"]) == ("Porkbun", False, str(connection.id))
    assert (c["expires_at"], c["connection_id"]) == ("2026-12-31T00:00:00Z", None)

    again = await sync(alice, worker)
    assert (again["summary"]["updated"], again["summary"]["new"], again["changes"]) == (0, 0, [])
    assert again["summary"]["unchanged"] == 2
    assert await get(alice, "a.com") == a


async def test_what_the_registrar_does_not_say_overwrites_nothing(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    silent = held("a.com", expires_at=None)
    await connect(alice, fake_of("porkbun", silent), fakes)
    await add(alice, "a.com", expires_at="2026-12-31T00:00:00Z", nameservers=["ns1.mine.net"])
    await sync(alice, worker)
    domain = await get(alice, "a.com")
    assert (domain["expires_at"], domain["expiry_source"]) == ("2026-12-31T00:00:00Z", "manual")
    assert domain["nameservers"] == ["ns1.mine.net"]


async def test_a_filled_in_field_follows_the_registrar_and_an_entered_one_stays(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = fake_of("porkbun", "a.com", "b.com")
    await connect(alice, fake, fakes)
    await add(alice, "a.com")
    await add(alice, "b.com", privacy=False)
    await sync(alice, worker)
    for each in fake.account.domains:
        each.locked, each.privacy = False, True
    run = await sync(alice, worker)
    assert [(each["domain"], each["field"], each["from"], each["to"]) for each in run["changes"]] == [
        ("a.com", "locked", True, False),
        ("b.com", "locked", True, False),
    ]
    assert (await get(alice, "b.com"))["privacy"] is False


async def test_a_dry_run_writes_nothing(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    fake = fake_of("porkbun", "a.com", "b.com")
    await connect(alice, fake, fakes)
    await add(alice, "a.com", auto_renew=False)
    before = await get(alice, "a.com")
    planned = await sync(alice, worker, dry_run=True)
    assert planned["dry_run"] is True
    assert await get(alice, "a.com") == before
    assert ok(await alice.get(INVENTORY)) == {"items": [], "next_cursor": None, "snapshots": [], "redacted": []}
    done = await sync(alice, worker)
    assert (done["changes"], done["summary"]) == (planned["changes"], planned["summary"])
    fake.account.domains.pop()
    planned = await sync(alice, worker, dry_run=True)
    done = await sync(alice, worker)
    assert planned["summary"] == done["summary"]
    assert done["summary"]["missing"] == 1


async def test_only_a_complete_listing_marks_a_domain_missing(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = fake_of("godaddy", *(f"d{n:04d}.com" for n in range(1001)))
    await connect(alice, fake, fakes)
    await sync(alice, worker)
    fake.account.domains = [each for each in fake.account.domains if each.domain != "d0000.com"]
    fake.account.domains.append(held("e.com"))
    fake.account.faults.extend([None, *[Fault.MALFORMED] * 3])  # the second page fails
    run = await sync(alice, worker)
    assert by_provider(run)["godaddy"]["error"]["code"] == "provider_unavailable"
    listed = ok(await alice.get(INVENTORY, params={"limit": 1}))
    assert (listed["items"][0]["domain"], listed["items"][0]["missing_since"]) == ("d0000.com", None)
    assert listed["snapshots"][0]["complete"] is False
    await sync(alice, worker)
    listed = ok(await alice.get(INVENTORY, params={"stale": True}))
    assert [each["domain"] for each in listed["items"]] == ["d0000.com"]
    assert listed["items"][0]["missing_since"] is not None
    fake.account.domains.append(held("d0000.com"))
    await sync(alice, worker)
    assert ok(await alice.get(INVENTORY, params={"stale": True}))["items"] == []
