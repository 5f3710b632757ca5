"""Tags of many domains at once, and the list of all tags."""

from typing import Any

import pytest

from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.team.make import code, join, of

BULK = f"{DOMAINS}/bulk"


async def tagged(owner: Person, name: str = "harbour.com") -> list[str]:
    found: list[str] = (await owner.get(f"{DOMAINS}/{name}")).json()["tags"]
    return found


@pytest.mark.parametrize(
    ("add_tags", "remove", "left"),
    [
        (["c"], [], ["a", "b", "c"]),
        ([], ["a"], ["b"]),
        (["A"], ["a"], ["b", "a"]),  # `add` outweighs `remove`
        (["b", " B "], [], ["a", "b"]),
        ([], ["none"], ["a", "b"]),
        ([], ["A", "b"], []),
        (["bu\u0308cher"], [], ["a", "b", "b\u00fccher"]),
    ],
)
async def test_tags_are_added_and_removed(
    alice: Person, add_tags: list[str], remove: list[str], left: list[str]
) -> None:
    await add(alice, tags=["a", "b"])

    answer = await alice.post(BULK, json={"domains": ["harbour.com"], "add_tags": add_tags, "remove_tags": remove})

    assert answer.status_code == 200, answer.text
    assert await tagged(alice) == left


async def test_a_domain_holds_fifty_tags_and_no_more(alice: Person) -> None:
    await add(alice, tags=[f"t{at}" for at in range(49)])

    wanted = [{"add_tags": ["last"]}, {"add_tags": ["other"], "remove_tags": ["last"]}]
    wanted.append({"add_tags": ["more"], "remove_tags": ["none"]})
    answers = [await alice.post(BULK, json={"domains": ["harbour.com"], **each}) for each in wanted]

    results = [each.json()["results"][0] for each in answers]
    assert [each["outcome"] for each in results] == ["updated", "updated", "error"]
    assert [each["code"] for each in results[-1]["errors"]] == ["too_many_tags"]
    assert (await tagged(alice))[-1] == "other"


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({"add_tags": ["a"]}, ["domains"]),
        ({"domains": [], "add_tags": ["a"]}, ["domains"]),
        ({"domains": ["x.com"] * 1_001, "add_tags": ["a"]}, ["domains"]),
        ({"domains": [""], "add_tags": ["a"]}, ["domains", 0]),
        ({"domains": ["x.com", 7], "add_tags": ["a"]}, ["domains", 1]),
        ({"domains": ["x.com"], "add_tags": ["a", "b,c"]}, ["add_tags", 1]),
        ({"domains": ["x.com"], "remove_tags": ["x" * 51]}, ["remove_tags", 0]),
        ({"domains": ["x.com"], "add_tags": [f"t{at}" for at in range(51)]}, ["add_tags"]),
        ({"domains": ["x.com"], "add_tags": None}, ["add_tags"]),
    ],
)
async def test_a_wrong_member_is_named(alice: Person, body: dict[str, Any], loc: list[str | int]) -> None:
    refused = await alice.post(BULK, json=body)

    assert refused.status_code == 422
    assert refused.json()["detail"][0]["loc"] == ["body", *loc]


async def test_a_thousand_domains_have_a_result_each(alice: Person) -> None:
    await add(alice, "x500.com")
    keys = [f"x{at}.com" for at in range(1_000)]

    answer = await alice.post(BULK, json={"domains": keys, "add_tags": ["a"]})

    results = answer.json()["results"]
    assert [each["index"] for each in results] == [*range(1_000)]
    assert [each["domain"] for each in results if each["outcome"] != "error"] == ["x500.com"]
    assert answer.json()["summary"]["errors"] == 999


async def test_a_viewer_of_the_team_reads_tags_and_changes_none(alice: Person, charlie: Person) -> None:
    await add(alice, tags=["a"])
    await join(alice, charlie, "viewer")

    listed = await charlie.get("/v1/portfolio/tags", headers=of(alice))
    refused = await charlie.post(BULK, json={"domains": ["harbour.com"], "add_tags": ["b"]}, headers=of(alice))

    assert listed.json()["items"] == [{"tag": "a", "count": 1}]
    assert code(refused) == (403, "forbidden_role")
    assert await tagged(alice) == ["a"]


async def test_tags_are_listed_by_name_with_their_number(alice: Person, bob: Person) -> None:
    for name, tags in (("a.com", ["b", "c"]), ("b.com", ["c", "a"]), ("c.com", ["z\u00fcrich"])):
        await add(alice, name, tags=tags)
    await add(bob, tags=["b", "bob"])

    listed = (await alice.get("/v1/portfolio/tags")).json()["items"]

    assert [(each["tag"], each["count"]) for each in listed] == [("a", 1), ("b", 1), ("c", 2), ("z\u00fcrich", 1)]
