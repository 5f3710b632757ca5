import asyncio

from builders.kit.db.connections import Conn
from tests.cast import Person
from tests.projects.make import ALL, PATH, archive, create, published_events, read


async def test_it_returns_the_archived_project(alice: Person) -> None:
    made = await create(alice, **ALL)
    answer = await alice.delete(f"{PATH}/{made['id']}")

    archived = answer.json()
    assert (answer.status_code, answer.headers["ETag"]) == (200, f'"{made["id"]}.2"')
    assert (archived["status"], archived["version"]) == ("archived", 2)
    assert {name: archived[name] for name in ALL} == ALL
    assert archived == await read(alice, made)


async def test_archiving_again_changes_nothing(alice: Person, conn: Conn) -> None:
    made = await create(alice)
    first = await archive(alice, made)

    assert await archive(alice, made) == first
    assert [name for name, _ in await published_events(conn, alice.account.id)] == [
        "project.created",
        "project.archived",
    ]


async def test_concurrent_requests_archive_it_once(alice: Person, conn: Conn) -> None:
    made = await create(alice)
    answers = await asyncio.gather(*(alice.delete(f"{PATH}/{made['id']}") for _ in range(5)))

    assert {(each.status_code, each.json()["version"]) for each in answers} == {(200, 2)}
    assert len(await published_events(conn, alice.account.id)) == 2


async def test_if_match_applies_only_while_the_project_is_active(alice: Person) -> None:
    made = await create(alice)
    path = f"{PATH}/{made['id']}"
    stale = await alice.delete(path, headers={"If-Match": f'"{made["id"]}.7"'})
    assert (stale.status_code, stale.json()["code"]) == (412, "version_mismatch")

    tag = {"If-Match": f'"{made["id"]}.1"'}
    answers = [await alice.delete(path, headers=tag) for _ in range(2)]  # the first response was lost
    assert [each.status_code for each in answers] == [200, 200]
