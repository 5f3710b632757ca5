import asyncio
from datetime import timedelta
from typing import Any

import psycopg

from builders.app import create_app, lifespan
from builders.identity.authenticator import Authenticator
from builders.kit.db import old_rows
from builders.kit.db.connections import Database
from builders.kit.http.callers import Credential, CredentialsInvalid
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.identity.make import PATH, WANTED, mint, status

REMEMBERED = timedelta(seconds=1)  # as the settings of the tests say
PUBLISHED = "SELECT count(*) FROM kit_outbox WHERE account_id = %s AND name = 'api_key.revoked'"


async def test_a_revoked_key_shows_when_it_ended(alice: Person) -> None:
    key = await mint(alice)

    revoked = (await alice.delete(f"{PATH}/{key['id']}")).json()

    assert revoked["revoked_at"] > key["created_at"]
    assert revoked == (await alice.get(f"{PATH}/{key['id']}")).json()


async def test_the_process_that_revokes_a_key_refuses_it_at_once(alice: Person, anyone: Client) -> None:
    key = await mint(alice)
    assert await status(anyone, key["secret"]) == 200

    await alice.delete(f"{PATH}/{key['id']}")

    assert await status(anyone, key["secret"]) == 401


async def test_another_service_refuses_a_revoked_key_within_a_second(alice: Person, settings: Settings) -> None:
    key = await mint(alice)
    other = create_app(settings)
    async with lifespan(other.api), Client(other) as elsewhere:
        assert await status(elsewhere, key["secret"]) == 200
        await alice.delete(f"{PATH}/{key['id']}")
        clock.move(timedelta(seconds=settings.key_cache_s))

        assert await status(elsewhere, key["secret"]) == 401


async def test_a_key_never_used_before_is_refused_at_once(alice: Person, anyone: Client) -> None:
    key = await mint(alice)
    await alice.delete(f"{PATH}/{key['id']}")

    assert await status(anyone, key["secret"]) == 401


async def test_a_revoked_key_mints_nothing_even_while_it_is_remembered(alice: Person, anyone: Client) -> None:
    key = await mint(alice)
    mine = {"X-API-Key": key["secret"]}
    assert await status(anyone, key["secret"]) == 200
    await alice.delete(f"{PATH}/{key['id']}")

    refusals = [
        await anyone.post(PATH, json=WANTED, headers=mine),
        await anyone.delete(f"{PATH}/{key['id']}", headers=mine),
        await anyone.post(f"{PATH}/{key['id']}/rotate", headers=mine),
    ]

    assert [each.status_code for each in refusals] == [401, 401, 401]
    assert await status(anyone, key["secret"]) == 401  # the refusal is remembered too
    assert len((await alice.get(PATH)).json()["items"]) == 3


async def test_another_process_feels_it_within_the_cache_time(alice: Person, database: Database) -> None:
    key = await mint(alice)
    credential = Credential("api_key", key["secret"])
    elsewhere = Authenticator(database, cache_s=60)
    assert str((await elsewhere(credential, fresh=False)).key_id) == key["id"]
    await alice.delete(f"{PATH}/{key['id']}")

    clock.move(timedelta(seconds=40))
    remembered = await elsewhere(credential, fresh=False)
    clock.move(timedelta(seconds=20))

    assert str(remembered.key_id) == key["id"]
    assert await refuses(elsewhere, credential, fresh=False)


async def test_a_fresh_check_refuses_it_at_once(alice: Person, database: Database) -> None:
    key = await mint(alice)
    credential = Credential("api_key", key["secret"])
    elsewhere = Authenticator(database, cache_s=60)
    await elsewhere(credential, fresh=False)
    await alice.delete(f"{PATH}/{key['id']}")

    assert await refuses(elsewhere, credential, fresh=True)
    assert await refuses(elsewhere, credential, fresh=False)


async def test_revoking_again_changes_and_publishes_nothing(
    alice: Person, conn: psycopg.AsyncConnection[Any]
) -> None:
    key = await mint(alice)
    first = await alice.delete(f"{PATH}/{key['id']}")
    clock.move(timedelta(minutes=1))
    second = await alice.delete(f"{PATH}/{key['id']}")

    assert second.status_code == 200
    assert second.json() == first.json()
    assert await (await conn.execute(PUBLISHED, [alice.account.id])).fetchone() == (1,)


async def test_concurrent_revocations_publish_one_event(alice: Person, conn: psycopg.AsyncConnection[Any]) -> None:
    key = await mint(alice)

    answers = await asyncio.gather(*(alice.delete(f"{PATH}/{key['id']}") for _ in range(8)))

    assert {each.status_code for each in answers} == {200}
    assert len({each.json()["revoked_at"] for each in answers}) == 1
    assert await (await conn.execute(PUBLISHED, [alice.account.id])).fetchone() == (1,)


async def test_a_test_key_revokes_test_keys_only(alice: Person) -> None:
    live, test = await mint(alice), await mint(alice, key_kind="test")

    refused = await alice.test.delete(f"{PATH}/{live['id']}")

    assert refused.status_code == 403
    assert refused.json()["code"] == "live_key_required"
    assert (await alice.get(f"{PATH}/{live['id']}")).json()["revoked_at"] is None
    assert (await alice.test.delete(f"{PATH}/{test['id']}")).status_code == 200


async def test_a_key_may_revoke_itself(alice: Person, anyone: Client) -> None:
    key = await mint(alice)
    path, mine = f"{PATH}/{key['id']}", {"X-API-Key": key["secret"]}

    assert (await anyone.delete(path, headers=mine)).status_code == 200
    assert (await anyone.delete(path, headers=mine)).status_code == 401


async def refuses(authenticator: Authenticator, credential: Credential, *, fresh: bool) -> bool:
    try:
        await authenticator(credential, fresh=fresh)
    except CredentialsInvalid:
        return True
    return False


async def test_a_key_is_deleted_400_days_after_its_end(alice: Person, anyone: Client, database: Database) -> None:
    kept, revoked = await mint(alice), await mint(alice)
    await alice.delete(f"{PATH}/{revoked['id']}")
    clock.move(timedelta(days=399))
    await old_rows.delete(database, "identity_keys")
    assert (await alice.get(f"{PATH}/{revoked['id']}")).status_code == 200
    clock.move(timedelta(days=1))
    await old_rows.delete(database, "identity_keys")

    assert (await alice.get(f"{PATH}/{revoked['id']}")).status_code == 404
    assert [await status(anyone, each["secret"]) for each in (revoked, kept)] == [401, 200]


async def test_an_expired_key_is_deleted_400_days_after_its_end(alice: Person, database: Database) -> None:
    key = await mint(alice, expires_at=(clock.now() + timedelta(days=10)).isoformat())
    for days, code in ((400, 200), (10, 404)):
        clock.move(timedelta(days=days))
        await old_rows.delete(database, "identity_keys")
        assert (await alice.get(f"{PATH}/{key['id']}")).status_code == code
