import asyncio

from builders.kit.db.connections import Conn
from tests.cast import Person
from tests.projects.make import ALL, PATH, archive, create, read, told


async def test_it_answers_the_record(alice: Person) -> None:
    made = await create(alice, **ALL)
    answer = await alice.delete(f"{PATH}/{made['id']}")

    archived = answer.json()
    assert (answer.status_code, answer.headers["ETag"]) == (200, f'"{made["id"]}.2"')
    assert (archived["status"], archived["version"]) == ("archived", 2)
    assert {name: archived[name] for name in ALL} == ALL
    assert archived == await read(alice, made)


async def test_done_again_it_changes_nothing(alice: Person, conn: Conn) -> None:
    made = await create(alice)
    first = await archive(alice, made)

    assert await archive(alice, made) == first
    assert [name for name, _ in await told(conn, alice.account.id)] == ["project.created", "project.archived"]


async def test_many_at_once_archive_it_once(alice: Person, conn: Conn) -> None:
    made = await create(alice)
    answers = await asyncio.gather(*(alice.delete(f"{PATH}/{made['id']}") for _ in range(5)))

    assert {(each.status_code, each.json()["version"]) for each in answers} == {(200, 2)}
    assert len(await told(conn, alice.account.id)) == 2


async def test_if_match_is_asked_for_what_is_still_to_be_done(alice: Person) -> None:
    made = await create(alice)
    path = f"{PATH}/{made['id']}"
    stale = await alice.delete(path, headers={"If-Match": f'"{made["id"]}.7"'})
    assert (stale.status_code, stale.json()["code"]) == (412, "version_mismatch")

    tag = {"If-Match": f'"{made["id"]}.1"'}
    answers = [await alice.delete(path, headers=tag) for _ in range(2)]  # an answer that was lost
    assert [each.status_code for each in answers] == [200, 200]
