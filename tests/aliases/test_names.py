"""The registry of names: unique keys decide; reservations and quarantines expire."""

import asyncio
from collections import Counter
from datetime import timedelta

import pytest

from builders.aliases import claims
from builders.aliases.errors import NamesRefused
from builders.aliases.records import LIVE, Name, Reason
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock, ids
from tests.aliases.make import FREE, Owner, fresh, prune, registry, spec, wanted

HOLD = timedelta(minutes=15)


@pytest.fixture
def ada(database: Database) -> Owner:
    """Return an account."""
    return Owner(database)


@pytest.fixture
def bob(database: Database) -> Owner:
    """Return another account."""
    return Owner(database)


async def refusal(attempt: object) -> dict[str, str]:
    with pytest.raises(NamesRefused) as caught:
        await attempt  # type: ignore[misc] # a coroutine of the owner
    return {name.key: standing.reason.value for name, standing in caught.value.refused.items()}


async def test_a_claimed_name_is_taken_for_every_account(ada: Owner, bob: Owner) -> None:
    domain = fresh()
    await ada.claim(spec("jane.doe", domain))
    assert await bob.unavailable(wanted("janedoe", domain)) == {"janedoe": "taken"}
    assert await ada.unavailable(wanted("j.anedoe", domain)) == {"janedoe": "taken"}
    assert await refusal(bob.claim(spec("jane.d.oe", domain))) == {"janedoe": "taken"}
    assert await refusal(ada.claim(spec("janedoe", domain, manifest_key="other"))) == {"janedoe": "taken"}


async def test_an_invalid_domain_does_not_hide_other_names(ada: Owner, bob: Owner) -> None:
    domain = fresh()
    await ada.claim(spec("ada", domain))
    for odd in (f"x\n{domain}", f"{domain}\n", "\n", ""):
        assert await bob.unavailable(wanted("ada", odd)) == {}
        assert await bob.unavailable(wanted("eve", odd), wanted("ada", domain), wanted("kim", odd)) == {
            "ada": "taken"
        }
    assert await bob.unavailable() == {}


async def test_one_name_on_two_domains_is_two_names(ada: Owner, bob: Owner) -> None:
    await ada.claim(spec("ada", fresh()))
    await bob.claim(spec("ada", fresh()))


async def test_names_are_claimed_all_or_none(ada: Owner, bob: Owner, conn: Conn) -> None:
    domain = fresh()
    await bob.claim(spec("grace", domain))
    attempt = ada.claim(spec("ada", domain), spec("grace", domain), spec("linus", domain))
    assert await refusal(attempt) == {"grace": "taken"}
    assert await registry(conn, domain) == {Name(domain, "grace"): "claimed"}
    assert await ada.aliases() == {}
    await ada.claim(spec("ada", domain), spec("linus", domain))


async def test_a_refusal_has_a_reason_for_each_name(ada: Owner, bob: Owner) -> None:
    domain = fresh()
    await bob.claim(spec("grace", domain), spec("norman", domain), spec("linus", domain))
    await bob.reserve(wanted("alan", domain))
    await bob.release((await bob.aliases())["linus"])
    specs = [spec(each, domain) for each in ("grace", "norrnan", "linus", "alan", "free")]
    assert await refusal(ada.claim(*specs)) == {
        "grace": "taken",
        "norrnan": "confusable",
        "linus": "quarantined",
        "alan": "held",
    }


async def test_a_reserved_name_is_unavailable_until_its_time(ada: Owner, bob: Owner) -> None:
    domain = fresh()
    await ada.reserve(wanted("ada", domain), for_=HOLD)
    assert await bob.unavailable(wanted("ada", domain)) == {"ada": "held"}
    assert await ada.unavailable(wanted("ada", domain)) == {}
    clock.move(HOLD - timedelta(seconds=5))
    assert await refusal(bob.claim(spec("ada", domain))) == {"ada": "held"}
    clock.move(timedelta(seconds=5))
    assert await bob.unavailable(wanted("ada", domain)) == {}
    await bob.claim(spec("ada", domain))


async def test_an_account_claims_a_name_that_it_reserved(ada: Owner, bob: Owner, conn: Conn) -> None:
    domain = fresh()
    await ada.reserve(wanted("ada", domain))
    await ada.reserve(wanted("ada", domain))
    await ada.claim(spec("ada", domain))
    clock.move(timedelta(days=1000))
    assert await bob.unavailable(wanted("ada", domain)) == {"ada": "taken"}
    assert await registry(conn, domain) == {Name(domain, "ada"): "claimed"}


async def test_an_account_cannot_reserve_a_name_that_it_claimed(ada: Owner) -> None:
    domain = fresh()
    await ada.claim(spec("ada", domain))
    assert await refusal(ada.reserve(wanted("ada", domain))) == {"ada": "taken"}


async def test_only_the_owner_can_claim_a_released_name_before_the_quarantine_ends(ada: Owner, bob: Owner) -> None:
    domain = fresh()
    await ada.claim(spec("ada", domain))
    await ada.release((await ada.aliases())["ada"], quarantine=timedelta(days=90))
    assert await bob.unavailable(wanted("ada", domain)) == {"ada": "quarantined"}
    assert await ada.unavailable(wanted("ada", domain)) == {}
    clock.move(timedelta(days=89))
    assert await refusal(bob.claim(spec("ada", domain))) == {"ada": "quarantined"}
    clock.move(timedelta(days=1))
    await bob.claim(spec("ada", domain))


async def test_an_owner_restores_a_released_name(ada: Owner, bob: Owner, conn: Conn) -> None:
    domain = fresh()
    for _ in range(3):
        await ada.claim(spec("ada", domain, price=FREE))
        await ada.release((await ada.aliases())["ada"])
    await ada.claim(spec("a.da", domain, price=FREE))
    clock.move(timedelta(days=91))
    assert await bob.unavailable(wanted("ada", domain)) == {"ada": "taken"}
    assert await registry(conn, domain) == {Name(domain, "ada"): "claimed"}


async def test_a_reservation_does_not_shorten_a_quarantine(ada: Owner, bob: Owner) -> None:
    domain = fresh()
    await ada.claim(spec("ada", domain))
    await ada.release((await ada.aliases())["ada"], quarantine=timedelta(days=90))
    await ada.reserve(wanted("ada", domain), for_=HOLD)
    clock.move(timedelta(days=89))
    assert await bob.unavailable(wanted("ada", domain)) == {"ada": "quarantined"}


async def test_without_quarantine_a_released_name_is_available_immediately(ada: Owner, bob: Owner) -> None:
    domain = fresh()
    await ada.claim(spec("ada", domain))
    await ada.release((await ada.aliases())["ada"], quarantine=timedelta())
    assert await bob.unavailable(wanted("ada", domain)) == {}
    await bob.claim(spec("ada", domain))


async def test_a_skeleton_belongs_to_one_account(ada: Owner, bob: Owner) -> None:
    domain = fresh()
    await ada.claim(spec("norman", domain))
    assert await bob.unavailable(wanted("n0rman", domain)) == {"n0rman": "confusable"}
    assert await refusal(bob.claim(spec("norrnan", domain))) == {"norrnan": "confusable"}
    await ada.claim(spec("norrnan", domain), spec("n0rman", domain))


async def test_a_skeleton_is_available_when_its_last_name_is(ada: Owner, bob: Owner, conn: Conn) -> None:
    domain = fresh()
    await ada.claim(spec("norman", domain), spec("n0rman", domain))
    await ada.release((await ada.aliases())["norman"], quarantine=timedelta(days=1))
    clock.move(timedelta(days=2))
    assert await bob.unavailable(wanted("norrnan", domain)) == {"norrnan": "confusable"}
    await ada.release((await ada.aliases())["n0rman"], quarantine=timedelta(days=1))
    clock.move(timedelta(days=2))
    assert await bob.unavailable(wanted("norrnan", domain)) == {}
    await bob.claim(spec("norrnan", domain))
    assert await registry(conn, domain) == {Name(domain, "norrnan"): "claimed"}


async def test_expired_names_are_pruned(ada: Owner, bob: Owner, database: Database, conn: Conn) -> None:
    domain = fresh()
    await ada.claim(spec("kept", domain), spec("gone", domain), spec("g0ne", domain))
    await ada.reserve(wanted("held", domain), for_=HOLD)
    mine = await ada.aliases()
    await ada.release(mine["gone"], mine["g0ne"], quarantine=timedelta(days=1))
    await prune(database)
    assert len(await registry(conn, domain)) == 4
    clock.move(timedelta(days=2))
    await prune(database)
    assert await registry(conn, domain) == {Name(domain, "kept"): "claimed"}
    await bob.claim(spec("gone", domain))


async def skeletons(conn: Conn, domain: str) -> set[str]:
    rows = await conn.execute("SELECT skeleton FROM aliases_skeletons WHERE domain = %s", [domain])
    return {row[0] for row in await rows.fetchall()}


async def test_unused_skeletons_are_deleted(ada: Owner, database: Database, conn: Conn) -> None:
    domain = fresh()
    await ada.claim(spec("kept", domain))
    await ada.reserve(wanted("gone", domain), wanted("n0rman", domain), wanted("norman", domain), for_=HOLD)
    await ada.reserve(wanted("norrnan", domain), for_=2 * HOLD)
    clock.move(HOLD)
    await prune(database)
    norman = wanted("norman", domain).skeleton
    assert await skeletons(conn, domain) == {wanted("kept", domain).skeleton, norman}
    clock.move(HOLD)
    await prune(database)
    assert await skeletons(conn, domain) == {wanted("kept", domain).skeleton}


async def test_a_claim_waits_for_a_prune(ada: Owner, bob: Owner, database: Database, conn: Conn) -> None:
    domain = fresh()
    await ada.reserve(wanted("norman", domain), for_=HOLD)
    clock.move(HOLD)
    async with database.transaction() as pruning:
        assert await claims.prune_names(pruning) >= 1
        claiming = asyncio.create_task(bob.claim(spec("n0rman", domain)))
        while not await waiting(conn, pruning):
            assert not claiming.done()
    await claiming
    assert await registry(conn, domain) == {Name(domain, "n0rman"): "claimed"}
    assert await refusal(ada.claim(spec("norman", domain))) == {"norman": "confusable"}


async def waiting(conn: Conn, other: Conn) -> bool:
    """Return whether a connection waits for a lock of the other one."""
    rows = await conn.execute(
        "SELECT FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))", [other.info.backend_pid]
    )
    return await rows.fetchone() is not None


async def test_names_are_claimed_and_pruned_concurrently(database: Database, conn: Conn) -> None:
    domain = fresh()
    owners = [Owner(database) for _ in range(8)]
    for _ in range(10):
        tries = [
            owner.reserve(wanted("norman" if at % 2 else "n0rman", domain)) for at, owner in enumerate(owners)
        ]
        outcomes = await asyncio.gather(prune(database), *tries, prune(database), return_exceptions=True)
        failed = [type(outcome) for outcome in outcomes if isinstance(outcome, BaseException)]
        assert failed == [NamesRefused] * 7, outcomes
        assert len(await registry(conn, domain)) == 1
        clock.move(HOLD)


async def test_a_sandbox_neither_takes_nor_reveals_a_live_name(database: Database, ada: Owner, conn: Conn) -> None:
    domain = fresh()
    one, other = Owner(database, realm=ids.new()), Owner(database, realm=ids.new())
    await ada.claim(spec("live", domain))
    await one.claim(spec("test", domain), spec("live", domain))
    assert await ada.unavailable(wanted("test", domain)) == {}
    assert await one.unavailable(wanted("live", domain), wanted("test", domain)) == {
        "live": "taken",
        "test": "taken",
    }
    assert await other.unavailable(wanted("live", domain), wanted("test", domain)) == {}
    await other.claim(spec("live", domain))
    await ada.claim(spec("test", domain))
    await one.release((await one.aliases())["live"])
    assert await ada.unavailable(wanted("live", domain)) == {"live": "taken"}
    rows = await conn.execute("SELECT count(DISTINCT realm) FROM aliases_names WHERE domain = %s", [domain])
    assert await rows.fetchone() == (3,)
    assert one.realm != LIVE


async def test_names_of_a_sandbox_are_confusable_only_there(database: Database, ada: Owner) -> None:
    domain = fresh()
    await Owner(database, realm=ids.new()).claim(spec("norman", domain))
    await ada.claim(spec("norrnan", domain))


async def test_one_of_many_concurrent_claims_succeeds(database: Database, conn: Conn) -> None:
    domain = fresh()
    spellings = ("norman", "n0rman", "norrnan")
    owners = [Owner(database) for _ in range(60)]
    tries = [owner.claim(spec(spellings[at % 3], domain)) for at, owner in enumerate(owners)]
    outcomes = await asyncio.gather(*tries, return_exceptions=True)
    assert Counter(type(outcome) for outcome in outcomes) == {list: 1, NamesRefused: 59}
    assert list((await registry(conn, domain)).values()) == ["claimed"]


async def test_an_expired_name_is_claimed_once(database: Database, ada: Owner, conn: Conn) -> None:
    domain = fresh()
    await ada.claim(spec("norman", domain), spec("n0rman", domain))
    mine = await ada.aliases()
    await ada.release(*mine.values(), quarantine=timedelta(days=1))
    clock.move(timedelta(days=2))
    owners = [Owner(database) for _ in range(30)]
    tries = [owner.claim(spec("norman" if at % 2 else "norrnan", domain)) for at, owner in enumerate(owners)]
    outcomes = await asyncio.gather(*tries, prune(database), return_exceptions=True)
    won = [outcome for outcome in outcomes if isinstance(outcome, list)]
    refused = [outcome for outcome in outcomes if isinstance(outcome, NamesRefused)]
    assert (len(won), len(refused)) == (1, 29), outcomes
    assert list((await registry(conn, domain)).values()) == ["claimed"]


async def test_a_thousand_names_are_claimed_and_released(ada: Owner, bob: Owner) -> None:
    domain = fresh()
    await ada.claim(*(spec(f"crew{at:04}", domain) for at in range(1000)))
    await ada.release(*(await ada.aliases()).values())
    seen = await bob.unavailable(*(wanted(f"crew{at:04}", domain) for at in range(1001)))
    assert Counter(seen.values()) == {Reason.QUARANTINED.value: 1000}
