"""Sets of aliases: versions, manifest keys, destinations, and the serial for mail servers."""

import asyncio
from datetime import timedelta

import pytest

from builders.aliases import claims
from builders.aliases.records import PriceInterval
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock, ids
from builders.kit.values.conflicts import KeysTaken, ResourcesChanged
from builders.kit.values.money import Money
from tests.aliases.make import Owner, change, fresh, spec


@pytest.fixture
def ada(database: Database) -> Owner:
    """Return an account."""
    return Owner(database)


async def rows(conn: Conn, owner: Owner, columns: str) -> list[tuple[object, ...]]:
    query = f"SELECT {columns} FROM aliases WHERE account_id = %s ORDER BY serial"  # noqa: S608 - `columns` is a literal of the test
    return await (await conn.execute(query.encode(), [owner.account_id])).fetchall()


async def published(conn: Conn, owner: Owner) -> list[str]:
    cursor = await conn.execute(
        "SELECT name FROM kit_outbox WHERE account_id = %s ORDER BY id", [owner.account_id]
    )
    return [row[0] for row in await cursor.fetchall()]


async def test_an_alias_is_stored_as_claimed(ada: Owner) -> None:
    domain = fresh()
    claimed = spec(
        "jane.doe", domain, "b@example.net", "a@example.net", note="n", labels={"a": "b"}, enabled=False
    )
    await ada.claim(claimed)
    (alias,) = (await ada.aliases()).values()
    assert (alias.id, alias.address, alias.key) == (claimed.id, f"jane.doe@{domain}", "janedoe")
    assert (alias.destinations, alias.enabled, alias.status) == (
        ("b@example.net", "a@example.net"),
        False,
        "disabled",
    )
    assert (alias.note, alias.labels, alias.version) == ("n", {"a": "b"}, 1)
    assert (alias.manifest, alias.manifest_key) == ("acme-mail", "jane.doe")


@pytest.mark.parametrize(
    ("price", "interval", "renews"),
    [("12.00", "year", 365), ("1.250", "month", 28), ("0", "once", None)],
)
async def test_the_price_is_a_snapshot_with_the_next_renewal(
    ada: Owner, conn: Conn, price: str, interval: str, renews: int | None
) -> None:
    currency = "KWD" if price == "1.250" else "USD"
    await ada.claim(spec("ada", fresh(), price=Money.of(price, currency), interval=PriceInterval(interval)))
    ((amount, of, claimed, due),) = await rows(conn, ada, "price_amount, price_currency, claimed_at, renews_at")
    assert Money.of(str(amount).rstrip("0").rstrip(".") or "0", str(of)) == Money.of(price, currency)
    assert (due is None) == (renews is None)
    if renews is not None:
        assert timedelta(days=renews) <= due - claimed <= timedelta(days=renews + 3)  # type: ignore[operator] # times


async def test_a_change_needs_the_current_version(ada: Owner) -> None:
    await ada.claim(spec("ada", fresh()))
    alias = (await ada.aliases())["ada"]
    await ada.update(change(alias, note="one"))
    with pytest.raises(ResourcesChanged) as caught:
        await ada.update(change(alias, note="two"))
    assert caught.value.changed == {alias.id}
    after = (await ada.aliases())["ada"]
    assert (after.note, after.version) == ("one", 2)
    with pytest.raises(ResourcesChanged):
        await ada.release(alias)


async def test_changes_succeed_all_or_none(ada: Owner, conn: Conn) -> None:
    domain = fresh()
    await ada.claim(spec("ada", domain), spec("grace", domain))
    mine = await ada.aliases()
    await ada.update(change(mine["grace"], note="one"))
    with pytest.raises(ResourcesChanged) as caught:
        await ada.update(change(mine["ada"], note="two"), change(mine["grace"], note="two"))
    assert caught.value.changed == {mine["grace"].id}
    assert (await ada.aliases())["ada"].version == 1
    with pytest.raises(ResourcesChanged):
        await ada.release(*mine.values())
    assert len(await ada.aliases()) == 2
    assert await published(conn, ada) == ["alias.created", "alias.created", "alias.updated"]


async def test_an_account_cannot_change_aliases_of_another(ada: Owner, database: Database) -> None:
    await ada.claim(spec("ada", fresh()))
    alias = (await ada.aliases())["ada"]
    bob = Owner(database)
    for attempt in (bob.update(change(alias, note="x")), bob.release(alias)):
        with pytest.raises(ResourcesChanged):
            await attempt
    async with database.connection() as conn:
        assert await claims.list_aliases(conn, account_id=bob.account_id, alias_ids=[alias.id]) == []


async def test_a_released_alias_is_no_longer_listed(ada: Owner) -> None:
    await ada.claim(spec("ada", fresh()))
    alias = (await ada.aliases())["ada"]
    await ada.release(alias)
    assert await ada.aliases() == {}
    with pytest.raises(ResourcesChanged):
        await ada.release(alias)


async def test_two_keys_of_a_manifest_can_be_swapped(ada: Owner) -> None:
    domain = fresh()
    await ada.claim(spec("ada", domain, manifest_key="one"), spec("grace", domain, manifest_key="two"))
    mine = await ada.aliases()
    await ada.update(change(mine["ada"], manifest_key="two"), change(mine["grace"], manifest_key="one"))
    after = await ada.aliases()
    assert (after["ada"].manifest_key, after["grace"].manifest_key) == ("two", "one")


async def test_a_manifest_key_belongs_to_one_alias(ada: Owner) -> None:
    domain = fresh()
    await ada.claim(spec("ada", domain, manifest_key="one"), spec("grace", domain, manifest_key="two"))
    mine = await ada.aliases()
    attempts = (
        ada.claim(spec("linus", domain, manifest_key="one")),
        ada.update(change(mine["grace"], manifest_key="one")),
    )
    for attempt in attempts:
        with pytest.raises(KeysTaken) as caught:
            await attempt
        assert caught.value.keys == {("acme-mail", "one")}
    await ada.claim(spec("linus", domain, manifest="other", manifest_key="one"))
    await ada.release(mine["ada"])
    await ada.update(change(mine["grace"], manifest_key="one"))


async def test_aliases_without_a_manifest_need_no_keys(ada: Owner) -> None:
    domain = fresh()
    unmanaged = {"manifest": None, "manifest_key": None}
    await ada.claim(*(spec(each, domain, **unmanaged) for each in ("ada", "grace")))


async def test_one_of_many_concurrent_claims_gets_a_manifest_key(ada: Owner) -> None:
    domain = fresh()
    tries = [ada.claim(spec(f"crew{at:04}", domain, manifest_key="one")) for at in range(20)]
    outcomes = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(outcome, list) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, KeysTaken) for outcome in outcomes) == 19, outcomes


async def test_every_change_takes_the_next_serial(ada: Owner, conn: Conn) -> None:
    domain = fresh()
    await ada.claim(spec("ada", domain), spec("grace", domain))
    before = await rows(conn, ada, "local_part, serial, changed_in")
    await ada.update(change((await ada.aliases())["ada"], note="x"))
    changed = await rows(conn, ada, "local_part, serial, changed_in")
    assert [row[0] for row in changed] == ["grace", "ada"]
    assert changed[0] == next(row for row in before if row[0] == "grace")
    assert int(str(changed[1][2])) > max(int(str(row[2])) for row in before)
    await ada.release((await ada.aliases())["grace"])
    assert [row[0] for row in await rows(conn, ada, "local_part")] == ["ada", "grace"]


async def test_a_released_row_stays_as_a_change(ada: Owner, conn: Conn) -> None:
    await ada.claim(spec("ada", fresh()))
    clock.move(timedelta(hours=1))
    await ada.release((await ada.aliases())["ada"])
    ((status, deleted, updated, manifest, key, version),) = await rows(
        conn, ada, "status, deleted_at, updated_at, manifest, manifest_key, version"
    )
    assert (status, deleted == updated, manifest, key, version) == ("deleted", True, None, None, 2)


async def test_a_suspended_alias_stays_suspended_after_a_change(ada: Owner, conn: Conn) -> None:
    await ada.claim(spec("ada", fresh()))
    await conn.execute("UPDATE aliases SET status = 'suspended' WHERE account_id = %s", [ada.account_id])
    await ada.update(change((await ada.aliases())["ada"], enabled=True, note="x"))
    alias = (await ada.aliases())["ada"]
    assert (alias.status, alias.note) == ("suspended", "x")


async def test_an_address_is_one_destination_of_many_names(ada: Owner, conn: Conn) -> None:
    domain = fresh()
    await ada.claim(spec("ada", domain, "x@example.net", "y@example.net"), spec("grace", domain, "x@example.net"))
    cursor = await conn.execute(
        "SELECT email, verified_at FROM aliases_destinations WHERE account_id = %s ORDER BY email",
        [ada.account_id],
    )
    assert await cursor.fetchall() == [("x@example.net", None), ("y@example.net", None)]


async def test_a_confirmed_destination_stays_confirmed(ada: Owner, conn: Conn) -> None:
    domain = fresh()
    await ada.claim(spec("ada", domain, "x@example.net"))
    await conn.execute(
        "UPDATE aliases_destinations SET verified_at = %s WHERE account_id = %s", [clock.now(), ada.account_id]
    )
    await ada.update(change((await ada.aliases())["ada"], destinations=["y@example.net", "x@example.net"]))
    await ada.claim(spec("grace", domain, "x@example.net"))
    cursor = await conn.execute(
        "SELECT email FROM aliases_destinations WHERE account_id = %s AND verified_at IS NOT NULL",
        [ada.account_id],
    )
    assert await cursor.fetchall() == [("x@example.net",)]
    assert (await ada.aliases())["ada"].destinations == ("y@example.net", "x@example.net")


async def test_destinations_are_masked_in_events(ada: Owner, conn: Conn) -> None:
    await ada.claim(spec("ada", fresh(), "secret@example.net"))
    await ada.release((await ada.aliases())["ada"])
    cursor = await conn.execute("SELECT data FROM kit_outbox WHERE account_id = %s", [ada.account_id])
    published = [row[0] for row in await cursor.fetchall()]
    assert all("s***@example.net" in each and "secret" not in each for each in published)
    assert len(published) == 2


async def test_a_rolled_back_change_publishes_no_event(ada: Owner, database: Database, conn: Conn) -> None:
    async with database.connection() as own, own.transaction(force_rollback=True):
        await claims.create_aliases(own, account_id=ada.account_id, specs=[spec("ada", fresh())])
        assert await published(own, ada) == ["alias.created"]
    assert (await published(conn, ada), await ada.aliases()) == ([], {})


async def test_aliases_are_listed_by_manifest_name_or_id(ada: Owner, database: Database) -> None:
    domain = fresh()
    ones = [spec("ada", domain, manifest="one"), spec("grace", domain, manifest="one")]
    others = [spec("linus", domain, manifest="two"), spec("alan", domain, manifest="two")]
    await ada.claim(*ones, *others)
    async with database.connection() as conn:
        found = await claims.list_aliases(
            conn,
            account_id=ada.account_id,
            manifest="one",
            names=[ones[0].name, others[0].name],
            alias_ids=[others[0].id, ids.new()],
        )
    assert [alias.local_part for alias in found] == ["ada", "grace", "linus"]
