from builders.kit.db.connections import Conn
from builders.projects import store
from tests.cast import Client, Person
from tests.projects.make import PATH, archive, create, list_names


async def test_pages_list_the_newest_first(alice: Person) -> None:
    made = [(await create(alice, f"n{n}"))["id"] for n in range(5)]
    seen, cursor = [], None
    while True:
        page = (await alice.get(PATH, params={"limit": 2} | ({"cursor": cursor} if cursor else {}))).json()
        seen += [each["id"] for each in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break

    assert seen == made[::-1]


async def test_archived_projects_are_listed_on_request(alice: Person) -> None:
    made = [await create(alice, f"n{n}") for n in range(4)]
    await archive(alice, made[1])

    assert await list_names(alice) == ["n3", "n2", "n0"]
    assert await list_names(alice, include_archived=True) == ["n3", "n2", "n1", "n0"]
    assert await list_names(alice, include_archived="false") == ["n3", "n2", "n0"]


async def test_a_cursor_of_another_list_is_refused(alice: Person) -> None:
    for n in range(3):
        await create(alice, f"n{n}")
    cursor = (await alice.get(PATH, params={"limit": 1})).json()["next_cursor"]

    answer = await alice.get(PATH, params={"limit": 1, "cursor": cursor, "include_archived": True})
    assert (answer.status_code, answer.json()["detail"][0]["type"]) == (422, "cursor_invalid")


async def test_other_accounts_projects_are_not_listed(alice: Person, bob: Person) -> None:
    await create(alice)

    assert await list_names(bob) == []
    assert await list_names(bob, include_archived=True) == []
    assert await list_names(alice.test) == []


async def test_an_invalid_boolean_is_refused(alice: Person) -> None:
    assert (await alice.get(PATH, params={"include_archived": "perhaps"})).status_code == 422


async def test_pages_use_an_index_however_many_are_archived(alice: Person, conn: Conn) -> None:
    await conn.execute(
        "INSERT INTO projects (account_id, id, name, slug, created_at, updated_at, archived_at)"
        " SELECT %s, gen_random_uuid(), 'n', 'n' || n, now(), now(), CASE WHEN n > 100 THEN now() END"
        " FROM generate_series(1, 20000) AS n",
        [alice.account.id],
    )
    await conn.execute("ANALYZE projects")
    row = {"account_id": alice.account.id, "after": "ffffffff-ffff-ffff-ffff-ffffffffffff", "limit": 51, "q": ""}
    for query in (store.list_page, store.list_active_page):
        plan = [each[0] for each in await (await conn.execute(f"EXPLAIN {query.text}", row)).fetchall()]
        assert any("Index Scan" in line for line in plan), plan
        assert not any("Sort" in line or "Seq Scan" in line for line in plan), plan


async def test_it_needs_the_scope_and_credentials(dana: Person, anyone: Client) -> None:
    refused = await dana.get(PATH)
    assert (refused.status_code, refused.json()["scope"]) == (403, "projects:read")
    assert (await anyone.get(PATH)).status_code == 401
