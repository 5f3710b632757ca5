import asyncio
from unittest.mock import patch as replaced

import pytest

from builders.kit.db.connections import Conn
from builders.projects import service
from tests.cast import Person
from tests.projects.make import ALL, PATH, archive, create, patch, read, told
from tests.webhooks import make as webhooks


async def test_what_is_given_changes_and_the_rest_stays(alice: Person) -> None:
    made = await create(alice, **ALL)
    answer = await alice.patch(f"{PATH}/{made['id']}", json={"name": "Other", "alias_limit": 5})

    changed = answer.json()
    assert (answer.status_code, answer.headers["ETag"]) == (200, f'"{made["id"]}.2"')
    assert {name: changed[name] for name in ALL} == ALL | {"name": "Other", "alias_limit": 5}
    assert changed["updated_at"] > made["updated_at"]
    assert {**await read(alice, made), "warnings": []} == changed


async def test_null_clears_what_is_optional(alice: Person) -> None:
    made = await create(alice, **ALL)
    optional = ALL.keys() - {"name", "slug"}
    changed = await patch(alice, made, **dict.fromkeys(optional))

    assert {name: changed[name] for name in optional} == {
        "description": None,
        "website": None,
        "allowed_domains": [],
        "default_destination": None,
        "webhook_ids": [],
        "alias_limit": None,
        "metadata": {},
    }


@pytest.mark.parametrize("name", ["name", "slug", "archived"])
async def test_null_does_not_clear_what_there_must_be(alice: Person, name: str) -> None:
    made = await create(alice)
    answer = await alice.patch(f"{PATH}/{made['id']}", json={name: None})

    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", name])


@pytest.mark.parametrize("members", [{}, {"version": 1}])
async def test_a_patch_that_asks_for_nothing_is_refused(alice: Person, members: dict[str, object]) -> None:
    made = await create(alice)
    answer = await alice.patch(f"{PATH}/{made['id']}", json=members)

    [detail] = answer.json()["detail"]
    assert (answer.status_code, detail["type"], detail["loc"]) == (422, "patch_empty", ["body"])
    assert "alias_limit" in detail["msg"]


async def test_what_is_not_known_beside_what_is_becomes_a_warning(alice: Person) -> None:
    made = await create(alice)
    changed = await patch(alice, made, name="Other", sulg="other")
    assert [each["did_you_mean"] for each in changed["warnings"]] == ["slug"]


async def test_metadata_is_merged_pair_by_pair(alice: Person) -> None:
    made = await create(alice, metadata={"a": "1", "b": "2"})
    changed = await patch(alice, made, metadata={"b": None, "c": "3", "d": None})
    assert changed["metadata"] == {"a": "1", "c": "3"}


async def test_metadata_does_not_grow_over_its_bound(alice: Person) -> None:
    made = await create(alice, metadata={str(n): "x" for n in range(20)})
    more = await alice.patch(f"{PATH}/{made['id']}", json={"metadata": {"more": "x"}})
    assert (more.status_code, more.json()["detail"][0]["loc"]) == (422, ["body", "metadata"])

    changed = await patch(alice, made, metadata={"more": "x", "0": None})
    assert len(changed["metadata"]) == 20


@pytest.mark.parametrize("members", [{"name": "Lander"}, {"archived": False}, {"metadata": {}}, {"website": None}])
async def test_what_changes_nothing_is_no_new_version(
    alice: Person, conn: Conn, members: dict[str, object]
) -> None:
    made = await create(alice)
    assert (await patch(alice, made, **members)) == made
    assert [name for name, _ in await told(conn, alice.account.id)] == ["project.created"]


async def test_a_change_is_told_with_what_changed(alice: Person, conn: Conn) -> None:
    made = await create(alice)
    await patch(alice, made, slug="other", alias_limit=5, name="Lander")

    [_, (name, said)] = await told(conn, alice.account.id)
    assert (name, said["changed"], said["version"]) == ("project.updated", ["slug", "alias_limit"], 2)


async def test_a_slug_that_is_taken_is_refused_and_nothing_changes(alice: Person) -> None:
    await create(alice, slug="acme")
    made = await create(alice, slug="other")
    answer = await alice.patch(f"{PATH}/{made['id']}", json={"slug": "acme", "name": "New"})

    assert (answer.status_code, answer.json()["code"]) == (409, "slug_taken")
    assert {**await read(alice, made), "warnings": []} == made


async def test_only_ones_own_webhooks_can_be_named(alice: Person, bob: Person) -> None:
    made, his = await create(alice), (await webhooks.create(bob))["id"]
    answer = await alice.patch(f"{PATH}/{made['id']}", json={"webhook_ids": [his]})
    assert answer.json()["detail"][0]["type"] == "webhook_unknown"

    own = (await webhooks.create(alice))["id"]
    assert (await patch(alice, made, webhook_ids=[own]))["webhook_ids"] == [own]
    await alice.delete(f"{webhooks.PATH}/{own}")  # one that is gone hinders no other change
    assert (await patch(alice, made, name="Other", webhook_ids=[own]))["webhook_ids"] == [own]


async def test_if_match_keeps_what_was_not_seen_from_being_overwritten(alice: Person) -> None:
    made = await create(alice)
    path, tag = f"{PATH}/{made['id']}", {"If-Match": f'"{made["id"]}.1"'}
    assert (await alice.patch(path, json={"name": "First"}, headers=tag)).status_code == 200

    late = await alice.patch(path, json={"name": "Second"}, headers=tag)
    assert (late.status_code, late.json()["code"], late.json()["version"]) == (412, "version_mismatch", 2)
    assert (await read(alice, made))["name"] == "First"


async def test_a_version_in_the_body_does_too(alice: Person) -> None:
    made = await create(alice)
    changed = await patch(alice, made, name="First", version=1)
    assert (changed["name"], changed["version"], changed["warnings"]) == ("First", 2, [])
    assert (await patch(alice, made, name="Second", version=2.0))["version"] == 3

    late = await alice.patch(f"{PATH}/{made['id']}", json={"name": "Third", "version": 2})
    assert (late.status_code, late.json()["code"], late.json()["version"]) == (412, "version_mismatch", 3)
    assert (await read(alice, made))["name"] == "Second"


@pytest.mark.parametrize(("tagged", "version", "status"), [(1, 1, 200), (1, 2, 412), (2, 1, 412), (2, 2, 412)])
async def test_of_if_match_and_the_version_of_the_body_both_must_match(
    alice: Person, tagged: int, version: int, status: int
) -> None:
    made = await create(alice)
    answer = await alice.patch(
        f"{PATH}/{made['id']}",
        json={"name": "Other", "version": version},
        headers={"If-Match": f'"{made["id"]}.{tagged}"'},
    )
    assert (answer.status_code, answer.json()["version"]) == (status, 2 if status == 200 else 1)


@pytest.mark.parametrize("version", [None, 0, -1, "1", 1.5, True])
async def test_a_version_is_a_whole_number(alice: Person, version: object) -> None:
    made = await create(alice)
    answer = await alice.patch(f"{PATH}/{made['id']}", json={"name": "Other", "version": version})
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", "version"])


async def test_of_two_with_one_version_one_is_refused(alice: Person) -> None:
    made = await create(alice)
    tag = {"If-Match": f'"{made["id"]}.1"'}
    answers = await asyncio.gather(
        *(alice.patch(f"{PATH}/{made['id']}", json={"name": f"n{n}"}, headers=tag) for n in range(4))
    )
    assert sorted(each.status_code for each in answers) == [200, 412, 412, 412]


async def test_an_archived_one_is_restored(alice: Person, conn: Conn) -> None:
    made = await create(alice, **ALL)
    await archive(alice, made)
    restored = await patch(alice, made, archived=False)

    assert restored == made | {"version": 3, "updated_at": restored["updated_at"]}
    assert [name for name, _ in await told(conn, alice.account.id)] == [
        "project.created",
        "project.archived",
        "project.restored",
    ]


async def test_to_restore_needs_the_slug_or_another(alice: Person) -> None:
    made = await create(alice, slug="acme")
    await archive(alice, made)
    await create(alice, slug="acme")
    answer = await alice.patch(f"{PATH}/{made['id']}", json={"archived": False})
    assert (answer.status_code, answer.json()["code"]) == (409, "slug_taken")

    restored = await patch(alice, made, archived=False, slug="acme-old")
    assert (restored["status"], restored["slug"]) == ("active", "acme-old")


async def test_to_restore_needs_room(alice: Person) -> None:
    made = await create(alice)
    await archive(alice, made)
    await create(alice)
    with replaced.object(service, "MOST", 1):
        answer = await alice.patch(f"{PATH}/{made['id']}", json={"archived": False})
    assert (answer.status_code, answer.json()["code"]) == (409, "project_limit")


async def test_an_archived_one_does_not_change(alice: Person) -> None:
    made = await create(alice)
    await archive(alice, made)
    answer = await alice.patch(f"{PATH}/{made['id']}", json={"name": "Other"})

    assert (answer.status_code, answer.json()["code"]) == (409, "project_archived")
    assert (await patch(alice, made, name="Lander"))["version"] == 2  # nothing changes


async def test_a_patch_archives_too(alice: Person, conn: Conn) -> None:
    made = await create(alice)
    archived = await patch(alice, made, archived=True, name="Old")
    assert (archived["status"], archived["name"], archived["version"]) == ("archived", "Old", 3)
    assert (await patch(alice, made, archived=True)) == archived

    assert [name for name, _ in await told(conn, alice.account.id)] == [
        "project.created",
        "project.updated",
        "project.archived",
    ]
