from pathlib import Path

import pytest

from builders.app import Service
from builders.domains import account_domains
from builders.kit.db.connections import Conn, Database
from builders.kit.http.pagination import PageRequest
from tests.cast import Client, Person
from tests.catalog.make import fresh
from tests.domains.make import PATH, add, assign, claim, make_live
from tests.domains.nameserver import Nameserver
from tests.wire import counted


async def test_domains_are_listed_by_name_without_released_ones(alice: Person) -> None:
    added = [await add(alice, fresh(label)) for label in ("c", "a", "b")]
    await alice.delete(f"{PATH}/{added[2]['id']}")

    answer = await alice.get(PATH)

    assert answer.status_code == 200
    assert [each["domain"][0] for each in answer.json()["items"]] == ["a", "c"]
    assert answer.json()["next_cursor"] is None


async def test_pages_follow_each_other(alice: Person) -> None:
    names = sorted([(await add(alice, fresh()))["domain"] for _ in range(5)])

    seen: list[str] = []
    cursor = None
    while True:
        page = (await alice.get(PATH, params={"limit": 2, **({"cursor": cursor} if cursor else {})})).json()
        seen += [each["domain"] for each in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break

    assert seen == names


@pytest.mark.parametrize("limit", [0, 501, "x"])
async def test_a_limit_out_of_bounds_is_422(alice: Person, limit: object) -> None:
    assert (await alice.get(PATH, params={"limit": str(limit)})).status_code == 422


async def test_a_foreign_cursor_is_422(alice: Person, bob: Person) -> None:
    for _ in range(2):
        await add(alice, fresh())
    cursor = (await alice.get(PATH, params={"limit": 1})).json()["next_cursor"]

    assert (await bob.get(PATH, params={"cursor": cursor})).status_code == 422


async def test_each_domain_has_the_number_of_its_names(
    alice: Person, bob: Person, service: Service, database: Database
) -> None:
    given, other = await assign(service, alice, fresh("a")), await assign(service, alice, fresh("b"))
    async with database.transaction() as conn:
        await claim(conn, alice, f"ada@{given.domain}")
        await claim(conn, alice, f"eve@{given.domain}")
        await claim(conn, bob, f"bob@{other.domain}")

    items = (await alice.get(PATH)).json()["items"]

    assert [each["alias_count"] for each in items] == [2, 0]


async def test_the_number_of_statements_does_not_depend_on_the_number_of_domains(
    alice: Person, service: Service, conn: Conn, tmp_path: Path
) -> None:
    counts: list[int] = []
    for _ in range(2):
        for _ in range(3):
            await assign(service, alice, fresh())
        with counted(conn, tmp_path / "wire") as sent:
            found = await account_domains.list_domains(conn, account_id=alice.account.id, page=PageRequest())
        counts += sent

    assert len(found.items) == 6
    assert counts == [3, 3]


async def test_bob_and_the_sandbox_do_not_list_the_domains(alice: Person, bob: Person) -> None:
    await add(alice, fresh())

    assert (await bob.get(PATH)).json()["items"] == []
    assert (await alice.test.get(PATH)).json()["items"] == []


async def test_a_domain_is_read_with_its_etag(alice: Person, dns: Nameserver) -> None:
    live = await make_live(alice, dns, fresh())

    answer = await alice.get(f"{PATH}/{live['id']}")

    assert answer.json()["verified_at"] is not None
    assert answer.headers["ETag"] == f'"{live["id"]}.2"'


async def test_bob_gets_the_404_of_an_unknown_domain(alice: Person, bob: Person) -> None:
    added = await add(alice, fresh())

    answers = [await bob.get(f"{PATH}/{each}") for each in (added["id"], "nothing")]

    assert [(each.status_code, each.json()["code"]) for each in answers] == [(404, "account_domain_not_found")] * 2


async def test_reading_requires_credentials(anyone: Client) -> None:
    assert [(await anyone.get(each)).status_code for each in (PATH, f"{PATH}/x")] == [401, 401]
