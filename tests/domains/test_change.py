import asyncio

from builders.app import Service
from builders.kit.db.connections import Conn
from tests.cast import Client, Person
from tests.catalog.make import fresh
from tests.domains.make import PATH, add, published


async def test_a_change_of_sent_members_publishes_domain_updated(alice: Person, conn: Conn) -> None:
    added = await add(alice, fresh())

    answer = await alice.patch(
        f"{PATH}/{added['id']}", json={"catch_all": True, "default_destination": "Ada@Example.net"}
    )

    assert answer.status_code == 200
    changed = answer.json()
    assert (changed["catch_all"], changed["default_destination"]) == (True, "ada@example.net")
    assert (changed["version"], answer.headers["ETag"]) == (2, f'"{added["id"]}.2"')
    [event] = await published(conn, alice, "domain.updated")
    assert event["catch_all"] is True


async def test_an_absent_member_does_not_change_and_null_clears(alice: Person) -> None:
    added = await add(alice, fresh(), default_destination="ada@example.net", catch_all=True)
    path = f"{PATH}/{added['id']}"

    off = (await alice.patch(path, json={"catch_all": None})).json()
    cleared = (await alice.patch(path, json={"default_destination": None})).json()

    assert (off["catch_all"], off["default_destination"]) == (False, "ada@example.net")
    assert cleared["default_destination"] is None


async def test_a_patch_without_effect_keeps_the_version(alice: Person, conn: Conn) -> None:
    added = await add(alice, fresh(), default_destination="ada@example.net")

    same = await alice.patch(f"{PATH}/{added['id']}", json={"default_destination": "ada@example.net"})

    assert same.json()["version"] == added["version"]
    assert await published(conn, alice, "domain.updated") == []


async def test_a_catch_all_keeps_its_destination(alice: Person) -> None:
    added = await add(alice, fresh(), default_destination="ada@example.net", catch_all=True)

    answer = await alice.patch(f"{PATH}/{added['id']}", json={"default_destination": None})

    assert answer.status_code == 422
    assert answer.json()["detail"][0]["type"] == "destination_missing"


async def test_another_version_is_412(alice: Person) -> None:
    added = await add(alice, fresh())
    path, tag = f"{PATH}/{added['id']}", {"If-Match": f'"{added["id"]}.1"'}

    answers = await asyncio.gather(
        *(alice.patch(path, json={"default_destination": f"a{n}@example.net"}, headers=tag) for n in range(3))
    )

    assert sorted(each.status_code for each in answers) == [200, 412, 412]


async def test_a_released_domain_is_409(alice: Person) -> None:
    added = await add(alice, fresh())
    await alice.delete(f"{PATH}/{added['id']}")

    answer = await alice.patch(f"{PATH}/{added['id']}", json={"catch_all": False})

    assert (answer.status_code, answer.json()["code"]) == (409, "domain_released")


async def test_bob_gets_the_404_of_an_unknown_domain(alice: Person, bob: Person) -> None:
    added = await add(alice, fresh())

    assert (await bob.patch(f"{PATH}/{added['id']}", json={"catch_all": False})).status_code == 404


async def test_a_change_requires_credentials(anyone: Client) -> None:
    assert (await anyone.patch(f"{PATH}/x", json={})).status_code == 401


async def test_a_support_session_cannot_change_or_release_a_domain(alice: Person, service: Service) -> None:
    added = await add(alice, fresh(), default_destination="ada@example.net")
    path = f"{PATH}/{added['id']}"
    async with Client(service, token=(await alice.admit_support(may_write=True)).token) as support:
        answers = [
            await support.patch(path, json={"default_destination": "eve@example.net"}),
            await support.patch(path, json={"catch_all": True}),
            await support.post(PATH, json={"domain": fresh(), "default_destination": "eve@example.net"}),
            await support.delete(path),
        ]
        plain = await support.post(PATH, json={"domain": fresh()})

    assert {(each.status_code, each.json()["code"]) for each in answers} == {(403, "impersonation_forbidden")}
    assert plain.status_code == 201
    assert (await alice.get(path)).json() == {name: each for name, each in added.items() if name != "warnings"}
