import asyncio
from unittest.mock import patch as replaced

import pytest

from builders.kit.db.connections import Conn
from builders.projects import service
from tests.cast import Person
from tests.projects.make import ALL, PATH, archive, create, patch, published_events, read
from tests.webhooks import make as webhooks


async def test_absent_members_keep_their_value(alice: Person) -> None:
    made = await create(alice, **ALL)
    answer = await alice.patch(f"{PATH}/{made['id']}", json={"name": "Other", "alias_limit": 5})

    changed = answer.json()
    assert (answer.status_code, answer.headers["ETag"]) == (200, f'"{made["id"]}.2"')
    assert {name: changed[name] for name in ALL} == ALL | {"name": "Other", "alias_limit": 5}
    assert changed["updated_at"] > made["updated_at"]
    assert {**await read(alice, made), "warnings": []} == changed


async def test_null_clears_optional_members(alice: Person) -> None:
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
async def test_null_is_refused_for_required_members(alice: Person, name: str) -> None:
    made = await create(alice)
    answer = await alice.patch(f"{PATH}/{made['id']}", json={name: None})

    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", name])


@pytest.mark.parametrize("members", [{}, {"version": 1}])
async def test_an_empty_patch_is_refused(alice: Person, members: dict[str, object]) -> None:
    made = await create(alice)
    answer = await alice.patch(f"{PATH}/{made['id']}", json=members)

    [detail] = answer.json()["detail"]
    assert (answer.status_code, detail["type"], detail["loc"]) == (422, "patch_empty", ["body"])
    assert "alias_limit" in detail["msg"]


async def test_an_unknown_member_gets_a_warning(alice: Person) -> None:
    made = await create(alice)
    changed = await patch(alice, made, name="Other", sulg="other")
    assert [each["did_you_mean"] for each in changed["warnings"]] == ["slug"]


async def test_metadata_is_merged_pair_by_pair(alice: Person) -> None:
    made = await create(alice, metadata={"a": "1", "b": "2"})
    changed = await patch(alice, made, metadata={"b": None, "c": "3", "d": None})
    assert changed["metadata"] == {"a": "1", "c": "3"}


async def test_merged_metadata_cannot_exceed_its_bound(alice: Person) -> None:
    made = await create(alice, metadata={str(n): "x" for n in range(20)})
    more = await alice.patch(f"{PATH}/{made['id']}", json={"metadata": {"more": "x"}})
    assert (more.status_code, more.json()["detail"][0]["loc"]) == (422, ["body", "metadata"])

    changed = await patch(alice, made, metadata={"more": "x", "0": None})
    assert len(changed["metadata"]) == 20


@pytest.mark.parametrize("members", [{"name": "Lander"}, {"archived": False}, {"metadata": {}}, {"website": None}])
async def test_a_patch_without_effect_keeps_the_version(
    alice: Person, conn: Conn, members: dict[str, object]
) -> None:
    made = await create(alice)
    assert (await patch(alice, made, **members)) == made
    assert [name for name, _ in await published_events(conn, alice.account.id)] == ["project.created"]


async def test_the_event_names_the_changed_fields(alice: Person, conn: Conn) -> None:
    made = await create(alice)
    await patch(alice, made, slug="other", alias_limit=5, name="Lander")

    [_, (name, data)] = await published_events(conn, alice.account.id)
    assert (name, data["changed"], data["version"]) == ("project.updated", ["slug", "alias_limit"], 2)


async def test_a_taken_slug_is_refused_and_nothing_changes(alice: Person) -> None:
    await create(alice, slug="acme")
    made = await create(alice, slug="other")
    answer = await alice.patch(f"{PATH}/{made['id']}", json={"slug": "acme", "name": "New"})

    assert (answer.status_code, answer.json()["code"]) == (409, "slug_taken")
    assert {**await read(alice, made), "warnings": []} == made


async def test_only_webhooks_of_the_account_are_accepted(alice: Person, bob: Person) -> None:
    made, his = await create(alice), (await webhooks.create(bob))["id"]
    answer = await alice.patch(f"{PATH}/{made['id']}", json={"webhook_ids": [his]})
    assert answer.json()["detail"][0]["type"] == "webhook_unknown"

    own = (await webhooks.create(alice))["id"]
    assert (await patch(alice, made, webhook_ids=[own]))["webhook_ids"] == [own]
    await alice.delete(f"{webhooks.PATH}/{own}")  # a deleted webhook does not block other changes
    assert (await patch(alice, made, name="Other", webhook_ids=[own]))["webhook_ids"] == [own]


async def test_if_match_prevents_a_lost_update(alice: Person) -> None:
    made = await create(alice)
    path, tag = f"{PATH}/{made['id']}", {"If-Match": f'"{made["id"]}.1"'}
    assert (await alice.patch(path, json={"name": "First"}, headers=tag)).status_code == 200

    late = await alice.patch(path, json={"name": "Second"}, headers=tag)
    assert (late.status_code, late.json()["code"], late.json()["version"]) == (412, "version_mismatch", 2)
    assert (await read(alice, made))["name"] == "First"


async def test_a_version_in_the_body_prevents_a_lost_update(alice: Person) -> None:
    made = await create(alice)
    changed = await patch(alice, made, name="First", version=1)
    assert (changed["name"], changed["version"], changed["warnings"]) == ("First", 2, [])
    assert (await patch(alice, made, name="Second", version=2.0))["version"] == 3

    late = await alice.patch(f"{PATH}/{made['id']}", json={"name": "Third", "version": 2})
    assert (late.status_code, late.json()["code"], late.json()["version"]) == (412, "version_mismatch", 3)
    assert (await read(alice, made))["name"] == "Second"


@pytest.mark.parametrize(
    ("tagged", "version", "status", "after"),
    [
        pytest.param(1, 1, 200, 2, id="both match"),
        pytest.param(1, 2, 412, 1, id="another version in the body"),
        pytest.param(2, 1, 412, 1, id="another version in If-Match"),
        pytest.param(2, 2, 412, 1, id="another version in both"),
    ],
)
async def test_if_match_and_the_version_of_the_body_must_both_match(
    alice: Person, tagged: int, version: int, status: int, after: int
) -> None:
    made = await create(alice)
    answer = await alice.patch(
        f"{PATH}/{made['id']}",
        json={"name": "Other", "version": version},
        headers={"If-Match": f'"{made["id"]}.{tagged}"'},
    )
    assert (answer.status_code, answer.json()["version"]) == (status, after)


@pytest.mark.parametrize("version", [None, 0, -1, "1", 1.5, True])
async def test_a_version_must_be_a_positive_integer(alice: Person, version: object) -> None:
    made = await create(alice)
    answer = await alice.patch(f"{PATH}/{made['id']}", json={"name": "Other", "version": version})
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", "version"])


async def test_concurrent_patches_of_one_version_succeed_once(alice: Person) -> None:
    made = await create(alice)
    tag = {"If-Match": f'"{made["id"]}.1"'}
    answers = await asyncio.gather(
        *(alice.patch(f"{PATH}/{made['id']}", json={"name": f"n{n}"}, headers=tag) for n in range(4))
    )
    assert sorted(each.status_code for each in answers) == [200, 412, 412, 412]


async def test_a_patch_restores_an_archived_project(alice: Person, conn: Conn) -> None:
    made = await create(alice, **ALL)
    await archive(alice, made)
    restored = await patch(alice, made, archived=False)

    assert restored == made | {"version": 3, "updated_at": restored["updated_at"]}
    assert [name for name, _ in await published_events(conn, alice.account.id)] == [
        "project.created",
        "project.archived",
        "project.restored",
    ]


async def test_restoring_needs_an_unused_slug(alice: Person) -> None:
    made = await create(alice, slug="acme")
    await archive(alice, made)
    await create(alice, slug="acme")
    answer = await alice.patch(f"{PATH}/{made['id']}", json={"archived": False})
    assert (answer.status_code, answer.json()["code"]) == (409, "slug_taken")

    restored = await patch(alice, made, archived=False, slug="acme-old")
    assert (restored["status"], restored["slug"]) == ("active", "acme-old")


async def test_restoring_counts_towards_the_limit(alice: Person) -> None:
    made = await create(alice)
    await archive(alice, made)
    await create(alice)
    with replaced.object(service, "MAX_PROJECTS", 1):
        answer = await alice.patch(f"{PATH}/{made['id']}", json={"archived": False})
    assert (answer.status_code, answer.json()["code"]) == (409, "project_limit")


async def test_an_archived_project_does_not_change(alice: Person) -> None:
    made = await create(alice)
    await archive(alice, made)
    answer = await alice.patch(f"{PATH}/{made['id']}", json={"name": "Other"})

    assert (answer.status_code, answer.json()["code"]) == (409, "project_archived")
    assert (await patch(alice, made, name="Lander"))["version"] == 2  # no effect


async def test_a_patch_can_archive_the_project(alice: Person, conn: Conn) -> None:
    made = await create(alice)
    archived = await patch(alice, made, archived=True, name="Old")
    assert (archived["status"], archived["name"], archived["version"]) == ("archived", "Old", 3)
    assert (await patch(alice, made, archived=True)) == archived

    assert [name for name, _ in await published_events(conn, alice.account.id)] == [
        "project.created",
        "project.updated",
        "project.archived",
    ]


async def test_a_patch_does_not_set_what_the_service_sets(alice: Person, bob: Person) -> None:
    made = await create(alice)
    foreign = {"account_id": str(bob.account.id), "id": str(bob.account.id), "manifest": "x"}

    answer = await alice.patch(f"{PATH}/{made['id']}", json={"website": "https://a.example", **foreign})

    changed = answer.json()
    assert [changed[name] for name in ("account_id", "id", "managed_by")] == [made["account_id"], made["id"], None]
    assert {each["field"] for each in changed["warnings"]} == foreign.keys()
