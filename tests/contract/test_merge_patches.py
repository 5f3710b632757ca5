"""Every PATCH is a merge patch that must change something: the same refusals in every package."""

from collections.abc import Iterator
from typing import Any

import pytest

from builders.kit.values import ids
from tests.cast import Person
from tests.contract.document import Json, body_schemas, branches, operations, resolve
from tests.published import published

DOCUMENT: Json = published().document
PATCHES = sorted(name.partition(" ")[2] for name in operations(DOCUMENT) if name.startswith("PATCH "))


def address(path: str) -> str:
    """Return the path with an unknown id, because the body is validated before the look-up."""
    return "/".join(str(ids.new()) if each.startswith("{") else each for each in path.split("/"))


def asker(path: str, alice: Person, dana: Person) -> Person:
    """Return the person whose key holds the scope of the path."""
    return dana if path.startswith("/v1/portfolio") else alice


def members(path: str) -> list[str]:
    """Return the names of the members of the body."""
    (schema,) = body_schemas(operations(DOCUMENT)[f"PATCH {path}"])
    return list(resolve(DOCUMENT, schema)["properties"])


def shortened(names: list[str]) -> Iterator[tuple[str, str]]:
    """Each name of some length, misspelled so that it is another and resembles no other more."""
    yield from ((f"{name}x", name) for name in names if len(name) > 3 and f"{name}x" not in names)


def test_there_are_merge_patches() -> None:
    assert len(PATCHES) >= 5


@pytest.mark.parametrize("path", PATCHES)
async def test_an_empty_patch_is_refused(alice: Person, dana: Person, path: str) -> None:
    answer = await asker(path, alice, dana).patch(address(path), json={})

    assert answer.status_code == 422, answer.text
    (error,) = answer.json()["detail"]
    assert answer.json()["code"] == "patch_empty"
    assert (error["type"], error["loc"]) == ("patch_empty", ["body"])


@pytest.mark.parametrize("path", PATCHES)
async def test_a_patch_of_unknown_members_alone_is_refused_and_says_what_was_meant(
    alice: Person, dana: Person, path: str
) -> None:
    for wrong, right in shortened(members(path)):
        answer = await asker(path, alice, dana).patch(address(path), json={wrong: None, "zzzz": 1})

        assert answer.status_code == 422, answer.text
        found: list[Any] = [
            (error["type"], error["loc"], error.get("did_you_mean")) for error in answer.json()["detail"]
        ]
        assert found == [
            ("unknown_field", ["body", wrong], right),
            ("unknown_field", ["body", "zzzz"], None),
        ]


def _nulls(schema: Json, depth: int = 3) -> Iterator[Json]:
    """Yield patches with null as each member, and as each member of the objects in it."""
    for name, each in resolve(DOCUMENT, schema).get("properties", {}).items():
        yield {name: None}
        if depth:
            yield from ({name: inner} for choice in branches(each) for inner in _nulls(choice, depth - 1))


@pytest.mark.parametrize("path", PATCHES)
async def test_null_of_any_member_clears_it_or_is_refused(alice: Person, dana: Person, path: str) -> None:
    (schema,) = body_schemas(operations(DOCUMENT)[f"PATCH {path}"])
    for body in _nulls(schema):
        answer = await asker(path, alice, dana).patch(address(path), json=body)

        assert answer.status_code in {200, 404, 422}, body
