import asyncio
from datetime import timedelta
from typing import Any

import pytest

from builders.identity import keys
from builders.identity.authenticator import Authenticator
from builders.identity.records import KeyKind, Preset
from builders.kit.callers import OPERATOR
from builders.kit.db.connections import Database
from builders.kit.http.callers import Credential, CredentialsInvalid
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.identity.make import PATH, Json, mint, status


async def rotate(client: Client, key: Json, **body: Any) -> Json:
    answer = await client.post(f"{PATH}/{key['id']}/rotate", json=body or None)
    assert answer.status_code == 200, answer.text
    new: Json = answer.json()
    return new


async def test_the_new_key_is_like_the_old_one(alice: Person, anyone: Client) -> None:
    old = await mint(alice, label="deploy", key_kind="test", preset="domainer_full")

    new = await rotate(alice, old)

    assert all(new[name] != old[name] for name in ("id", "prefix", "secret"))
    assert [new[name] for name in ("label", "key_kind", "preset", "scopes", "expires_at")] == [
        *("deploy", "test", "domainer_full", old["scopes"], None)
    ]
    assert await status(anyone, new["secret"]) == 200


async def test_the_old_key_works_through_the_overlap_and_not_beyond(alice: Person, anyone: Client) -> None:
    old = await mint(alice)
    await rotate(alice, old, overlap_hours=2)

    clock.move(timedelta(hours=2, seconds=-30))
    assert await status(anyone, old["secret"]) == 200
    clock.move(timedelta(seconds=30))
    assert await status(anyone, old["secret"]) == 401


async def test_a_day_of_overlap_is_the_usual(alice: Person) -> None:
    old = await mint(alice)
    with clock.moved(timedelta(hours=24)):
        a_day_on = clock.now()
    await rotate(alice, old)

    ends = (await alice.get(f"{PATH}/{old['id']}")).json()["expires_at"]

    assert ends >= a_day_on.isoformat().replace("+00:00", "Z")


async def test_without_an_overlap_the_old_key_ends_at_once(alice: Person, anyone: Client) -> None:
    old = await mint(alice)
    await rotate(alice, old, overlap_hours=0)

    assert await status(anyone, old["secret"]) == 401


async def test_a_key_may_rotate_itself(alice: Person, anyone: Client) -> None:
    old = await mint(alice)
    answer = await anyone.post(f"{PATH}/{old['id']}/rotate", headers={"X-API-Key": old["secret"]})

    assert await status(anyone, answer.json()["secret"]) == 200


@pytest.mark.parametrize("overlap_hours", [0, 1, 100])
async def test_a_key_is_rotated_once(alice: Person, anyone: Client, overlap_hours: int) -> None:
    old = await mint(alice, expires_at=(clock.now() + timedelta(hours=1)).isoformat())
    await rotate(alice, old, overlap_hours=24)
    before = (await alice.get(PATH)).json()["items"]

    refused = await alice.post(f"{PATH}/{old['id']}/rotate", json={"overlap_hours": overlap_hours})

    assert (refused.status_code, refused.json()["code"]) == (409, "rotation_in_progress")
    assert "rotate that key" in refused.json()["next_action"]
    assert f"DELETE /v1/api-keys/{old['id']}" in refused.json()["next_action"]
    assert [each["id"] for each in (await alice.get(PATH)).json()["items"]] == [each["id"] for each in before]
    assert await status(anyone, old["secret"]) == 200


async def test_the_new_key_can_be_rotated_during_the_overlap(alice: Person, anyone: Client) -> None:
    new = await rotate(alice, await mint(alice))

    assert await status(anyone, (await rotate(alice, new))["secret"]) == 200


async def test_of_two_concurrent_rotations_one_is_refused(alice: Person) -> None:
    old = await mint(alice)

    answers = await asyncio.gather(*(alice.post(f"{PATH}/{old['id']}/rotate") for _ in range(2)))

    assert sorted(each.status_code for each in answers) == [200, 409]


async def test_an_ended_key_cannot_be_rotated(alice: Person) -> None:
    revoked, expired = await mint(alice), await mint(alice)
    await alice.delete(f"{PATH}/{revoked['id']}")
    await rotate(alice, expired, overlap_hours=0)
    before = (await alice.get(PATH)).json()

    answers = [await alice.post(f"{PATH}/{key['id']}/rotate") for key in (revoked, expired)]

    assert [each.status_code for each in answers] == [409, 409]
    assert {each.json()["code"] for each in answers} == {"api_key_revoked"}
    assert (await alice.get(PATH)).json() == before  # no new key came of it


async def test_a_test_key_rotates_no_live_key(alice: Person) -> None:
    live = await mint(alice)

    answer = await alice.test.post(f"{PATH}/{live['id']}/rotate")

    assert answer.status_code == 403
    assert answer.json()["code"] == "live_key_required"
    assert (await alice.get(f"{PATH}/{live['id']}")).json()["expires_at"] is None


@pytest.mark.parametrize("hours", [-1, 169, 1.5, "day"])
async def test_an_invalid_overlap_is_refused_with_its_location(alice: Person, hours: object) -> None:
    old = await mint(alice)
    answer = await alice.post(f"{PATH}/{old['id']}/rotate", json={"overlap_hours": hours})

    assert answer.status_code == 422
    assert [each["loc"] for each in answer.json()["detail"]] == [["body", "overlap_hours"]]


async def test_a_repeated_rotation_makes_one_key(alice: Person) -> None:
    old = await mint(alice)
    path, headers = f"{PATH}/{old['id']}/rotate", {"Idempotency-Key": "rotate-1"}
    first = await alice.post(path, headers=headers)
    second = await alice.post(path, headers=headers)

    assert second.json() == {name: value for name, value in first.json().items() if name != "secret"}
    assert len((await alice.get(PATH)).json()["items"]) == 4


async def test_a_key_made_to_expire_ends_to_the_second_though_it_is_remembered(
    alice: Person, database: Database
) -> None:
    async with database.transaction() as conn:
        new = await keys.create_key(
            conn,
            account_id=alice.account.id,
            label="for an hour",
            key_kind=KeyKind.LIVE,
            preset=Preset.DEVELOPER_FULL,
            minted_by=KeyKind.LIVE,
            actor=OPERATOR,
            expires_at=clock.now() + timedelta(hours=1),
        )
    authenticator = Authenticator(database, cache_s=60)
    clock.move(timedelta(minutes=59, seconds=30))
    await authenticator(Credential("api_key", new.secret), fresh=False)
    clock.move(timedelta(seconds=30))

    with pytest.raises(CredentialsInvalid):
        await authenticator(Credential("api_key", new.secret), fresh=False)
