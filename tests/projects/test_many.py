"""The functions for many projects, which promotions call."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.values.conflicts import KeysTaken, ResourcesChanged
from builders.projects import service as projects
from builders.projects.errors import SlugsTaken
from builders.projects.records import Project, ProjectSpec
from tests.cast import Person
from tests.projects.make import archive, change, create, list_names, published_events, spec
from tests.wire import counted_of_pools


async def create_projects(database: Database, person: Person, *specs: ProjectSpec) -> list[Project]:
    async with database.transaction() as conn:
        return await projects.create_many(conn, account_id=person.account.id, specs=specs)


async def archive_projects(conn: Conn, person: Person, *found: Project) -> list[Project]:
    versions = {each.id: each.version for each in found}
    return await projects.archive_many(conn, account_id=person.account.id, versions=versions)


async def test_projects_are_created_in_order_with_slugs_and_keys(
    alice: Person, database: Database, conn: Conn
) -> None:
    await create(alice, "Acme")
    specs = [
        spec("Acme"),
        spec("Acme"),
        spec("Other", slug="acme-3", manifest="main", manifest_key="other", metadata={"a": "b"}, alias_limit=3),
    ]
    made = await create_projects(database, alice, *specs)

    assert [each.id for each in made] == [each.id for each in specs]
    assert [each.slug for each in made] == ["acme-2", "acme-4", "acme-3"]
    assert (made[2].manifest, made[2].manifest_key, made[2].metadata) == ("main", "other", {"a": "b"})
    assert [data["id"] for _, data in await published_events(conn, alice.account.id)][1:] == [
        str(each.id) for each in specs
    ]


async def test_the_number_of_statements_is_independent_of_the_number_of_projects(
    alice: Person, database: Database, tmp_path: Path
) -> None:
    counts = []
    for number in (2, 200):
        with counted_of_pools(tmp_path) as sent:
            made = await create_projects(
                database,
                alice,
                *(spec(f"n{n}", manifest=f"m{number}", manifest_key=str(n)) for n in range(number)),
            )
            async with database.transaction() as own:
                changes = [change(each, alias_limit=5) for each in made]
                after = await projects.update_many(own, account_id=alice.account.id, changes=changes)
                await archive_projects(own, alice, *after)
        counts += sent

    assert counts[0] == counts[1] < 25


async def test_all_or_none_are_created(alice: Person, database: Database) -> None:
    await create(alice, slug="acme")
    with pytest.raises(SlugsTaken) as refused:
        await create_projects(
            database, alice, spec(slug="one"), spec(slug="acme"), spec(slug="two"), spec(slug="two")
        )

    assert refused.value.slugs == {"acme", "two"}
    assert await list_names(alice) == ["Lander"]


async def test_a_manifest_key_belongs_to_one_project(alice: Person, bob: Person, database: Database) -> None:
    key = {"manifest": "main", "manifest_key": "p"}
    await create_projects(database, alice, spec(**key))
    with pytest.raises(KeysTaken) as refused:
        await create_projects(database, alice, spec(**key))

    assert refused.value.keys == {("main", "p")}
    await create_projects(database, bob, spec(**key))


async def test_an_archived_project_frees_its_key(alice: Person, database: Database, conn: Conn) -> None:
    key = {"manifest": "main", "manifest_key": "p"}
    [made] = await create_projects(database, alice, spec(**key))
    assert (await archive(alice, {"id": str(made.id)}))["managed_by"] is None

    [again] = await create_projects(database, alice, spec(**key))
    found = await projects.list_projects(conn, account_id=alice.account.id, manifest="main", slugs=["lander"])
    assert [(each.id, each.is_archived) for each in found] == [(made.id, True), (again.id, False)]


async def test_one_call_swaps_slugs_and_keys(alice: Person, database: Database) -> None:
    one, two = await create_projects(
        database,
        alice,
        spec(slug="one", manifest="main", manifest_key="a"),
        spec(slug="two", manifest="main", manifest_key="b"),
    )
    changes = [change(one, slug="two", manifest_key="b"), change(two, slug="one", manifest_key="a")]
    async with database.transaction() as own:
        after = await projects.update_many(own, account_id=alice.account.id, changes=changes)

    assert [(each.slug, each.manifest_key, each.version) for each in after] == [("two", "b", 2), ("one", "a", 2)]


async def test_a_concurrent_change_is_named_and_nothing_is_written(
    alice: Person, bob: Person, database: Database, conn: Conn
) -> None:
    one, two, three = await create_projects(database, alice, spec("one"), spec("two"), spec("three"))
    [his] = await create_projects(database, bob, spec("his"))
    async with database.transaction() as own:
        await projects.update_many(own, account_id=alice.account.id, changes=[change(two, name="other")])
    await archive(alice, {"id": str(three.id)})
    stale = [change(each, name="new") for each in (one, two, three, his)]
    with pytest.raises(ResourcesChanged) as refused:
        async with database.transaction() as own:
            await projects.update_many(own, account_id=alice.account.id, changes=stale)
    assert refused.value.changed == {two.id, three.id, his.id}

    with pytest.raises(ResourcesChanged) as refused:
        async with database.transaction() as own:
            await archive_projects(own, alice, one, two, his)
    assert refused.value.changed == {two.id, his.id}
    found = await projects.list_projects(conn, account_id=alice.account.id, project_ids=[one.id, two.id, his.id])
    assert [(each.name, each.status) for each in found] == [("one", "active"), ("other", "active")]


async def test_archiving_many_publishes_an_event_for_each(alice: Person, database: Database, conn: Conn) -> None:
    made = await create_projects(database, alice, spec("one"), spec("two"))
    async with database.transaction() as own:
        gone = await archive_projects(own, alice, *made)

    assert {each.version for each in gone} == {2}
    assert await list_names(alice) == []
    assert [name for name, _ in await published_events(conn, alice.account.id)][2:] == ["project.archived"] * 2


async def test_a_locked_project_is_not_archived_until_the_transaction_ends(
    alice: Person, database: Database
) -> None:
    made = await create(alice)
    [project] = await create_projects(database, alice, spec("other"))
    async with database.transaction() as own:
        locked = await projects.lock_projects(own, account_id=alice.account.id, project_ids=[project.id])
        assert [each.status for each in locked] == ["active"]
        waiting = asyncio.create_task(alice.delete(f"/v1/builders/projects/{project.id}"))
        await archive(alice, made)  # another one is
        assert not waiting.done()
    assert (await waiting).json()["status"] == "archived"


async def test_a_failure_before_the_commit_changes_nothing(
    alice: Person, database: Database, conn: Conn, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*args: object, **kwargs: object) -> None:
        del args, kwargs
        raise RuntimeError("failed")

    with monkeypatch.context() as patched, suppress(RuntimeError):
        patched.setattr(outbox, "publish_many", fail)
        await create_projects(database, alice, spec(), spec())

    assert await list_names(alice) == []
    assert await published_events(conn, alice.account.id) == []
