import pytest

from tests.cast import Client, Person
from tests.projects.make import PATH, UNKNOWN_ID, archive, create, read


async def test_it_equals_the_reply_of_its_creation(alice: Person) -> None:
    made = await create(alice)
    assert {**await read(alice, made), "warnings": []} == made


async def test_an_archived_project_can_be_read(alice: Person) -> None:
    made = await create(alice)
    await archive(alice, made)

    shown = await read(alice, made)
    assert (shown["status"], shown["version"]) == ("archived", 2)
    assert shown["archived_at"] == shown["updated_at"]


async def test_a_matching_etag_gets_304(alice: Person) -> None:
    made = await create(alice)
    tag = f'"{made["id"]}.1"'
    answer = await alice.get(f"{PATH}/{made['id']}")
    assert answer.headers["ETag"] == tag

    again = await alice.get(f"{PATH}/{made['id']}", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
async def test_another_accounts_project_is_refused_like_an_unknown_one(
    alice: Person, bob: Person, method: str
) -> None:
    made = await create(alice)
    body = {"name": "His"} if method == "PATCH" else None
    answers = [await bob.request(method, f"{PATH}/{each}", json=body) for each in (made["id"], UNKNOWN_ID, "x")]

    assert {each.status_code for each in answers} == {404}
    # A text that is no id is told how to find one by its name.
    untold = {"request_id": None}
    assert answers[0].json() | untold == answers[1].json() | untold
    untold["next_action"] = None
    assert answers[1].json() | untold == answers[2].json() | untold
    assert answers[0].json()["code"] == "project_not_found"
    assert (await read(alice, made))["version"] == 1


@pytest.mark.parametrize(("method", "scope"), [("GET", "read"), ("PATCH", "write"), ("DELETE", "write")])
async def test_it_needs_the_scope_and_credentials(
    alice: Person, dana: Person, anyone: Client, method: str, scope: str
) -> None:
    path = f"{PATH}/{(await create(alice))['id']}"
    refused = await dana.request(method, path)
    assert (refused.status_code, refused.json()["scope"]) == (403, f"projects:{scope}")
    assert (await anyone.request(method, path)).status_code == 401
