import uuid
from datetime import timedelta
from itertools import pairwise

import pytest

from builders.kit.values import clock, ids
from tests.cast import Person
from tests.conftest import MakePerson
from tests.identity.make import PATH, Json, mint


async def listed(person: Person, limit: int) -> list[list[Json]]:
    """Return all pages of the list."""
    pages: list[list[Json]] = []
    cursor = None
    while cursor is not None or not pages:
        query = {"limit": str(limit)} | ({"cursor": cursor} if cursor else {})
        page = (await person.get(PATH, params=query)).json()
        pages.append(page["items"])
        cursor = page["next_cursor"]
    return pages


async def test_keys_are_listed_newest_first(alice: Person) -> None:
    made = [(await mint(alice, label=f"key {n}"))["id"] for n in range(3)]

    [page] = await listed(alice, 50)

    assert [key["id"] for key in page[:3]] == made[::-1]
    assert [key["label"] for key in page[3:]] == ["alice test", "alice live"]
    assert all(newer["created_at"] >= older["created_at"] for newer, older in pairwise(page))


@pytest.mark.parametrize(("limit", "sizes"), [(1, [1] * 6), (2, [2, 2, 2]), (4, [4, 2]), (6, [6]), (500, [6])])
async def test_pages_join_to_the_whole_list(alice: Person, limit: int, sizes: list[int]) -> None:
    for n in range(4):
        await mint(alice, label=f"key {n}")

    pages = await listed(alice, limit)

    assert [len(page) for page in pages] == sizes
    assert [key for page in pages for key in page] == (await alice.get(PATH)).json()["items"]


async def test_a_new_key_does_not_shift_the_pages(alice: Person) -> None:
    whole = (await alice.get(PATH)).json()["items"]
    first = (await alice.get(PATH, params={"limit": 1})).json()
    await mint(alice)

    second = (await alice.get(PATH, params={"limit": 1, "cursor": first["next_cursor"]})).json()

    assert [*first["items"], *second["items"]] == whole


@pytest.mark.parametrize("query", [{"limit": "0"}, {"limit": "501"}, {"limit": "x"}, {"cursor": "x"}])
async def test_an_invalid_page_is_refused_with_its_location(alice: Person, query: dict[str, str]) -> None:
    answer = await alice.get(PATH, params=query)

    assert answer.status_code == 422
    assert [each["loc"] for each in answer.json()["detail"]] == [["query", *query]]


async def test_a_key_reads_as_it_is_listed(alice: Person) -> None:
    key = await mint(alice, label='Ünïcode "quoted" \\ end')
    await mint(alice, label="kept")
    clock.move(timedelta(microseconds=1))
    await alice.post(f"{PATH}/{key['id']}/rotate", json={"overlap_hours": 1})
    await alice.delete(f"{PATH}/{key['id']}")

    items = (await alice.get(PATH)).json()["items"]
    singles = [(await alice.get(f"{PATH}/{item['id']}")).json() for item in items]

    assert len(items) == 5
    assert items == [{k: v for k, v in each.items() if k != "scopes"} for each in singles]
    [over] = [each for each in items if each["id"] == key["id"]]
    assert over["created_at"] < over["revoked_at"] < over["expires_at"]
    assert all(over[name].endswith("Z") for name in ("created_at", "revoked_at", "expires_at"))


async def test_a_test_key_sees_the_keys_of_the_real_account(alice: Person) -> None:
    assert (await alice.test.get(PATH)).json() == (await alice.get(PATH)).json()


async def test_another_account_sees_none_of_them(alice: Person, bob: Person) -> None:
    hers = {key["id"] for key in (await alice.get(PATH)).json()["items"]}
    his = {key["id"] for key in (await bob.get(PATH)).json()["items"]}

    assert len(hers) == len(his) == 2
    assert not hers & his


@pytest.mark.parametrize(("method", "ending"), [("GET", ""), ("DELETE", ""), ("POST", "/rotate")])
async def test_foreign_unknown_and_malformed_ids_get_the_same_404(
    people: MakePerson, bob: Person, method: str, ending: str
) -> None:
    key = await mint(await people("alice"))
    answers = [
        await bob.request(method, f"{PATH}/{wanted}{ending}")
        for wanted in (key["id"], ids.new(), uuid.UUID(int=0), key["id"].upper(), key["prefix"], "x", "%20", "é")
    ]

    said = [{**each.json(), "request_id": None} for each in answers]
    assert {each.status_code for each in answers} == {404}
    assert said[0]["code"] == "api_key_not_found"
    assert all(each == said[0] for each in said)


async def test_the_request_of_another_account_changes_nothing(people: MakePerson, bob: Person) -> None:
    owner = await people("alice")
    key = await mint(owner)
    await bob.delete(f"{PATH}/{key['id']}")
    await bob.post(f"{PATH}/{key['id']}/rotate")

    after = (await owner.get(f"{PATH}/{key['id']}")).json()

    assert (after["revoked_at"], after["expires_at"]) == (None, None)
    assert len((await owner.get(PATH)).json()["items"]) == 3
