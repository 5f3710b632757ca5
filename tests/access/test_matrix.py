"""The matrix of all operations and callers: matrix.toml, of which each cell is asked through HTTP."""

import tomllib
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from builders.app import Service
from tests.access.callers import CALLERS, LAST, NOT_FOUND, OPERATIONS, OWN, YES, World, stranger
from tests.conftest import MakePerson
from tests.identity.oauth.conftest import program, publisher, reading, window
from tests.identity.oauth.program import Program

__all__ = ["program", "publisher", "reading", "window"]

CLASSES: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("matrix.toml").read_text(encoding="utf-8"))[
    "class"
]
NAMES = ("provider", "name")  # in paths: not of one account
OF_PEOPLE = {
    "api_keys_remove_scopes",
    "api_keys_enable",
}  # their handlers require a person, before they look for the key


@pytest.fixture
async def world(service: Service, people: MakePerson, program: Program) -> AsyncIterator[World]:
    """Return what callers are made of."""
    async with AsyncExitStack() as stack:
        yield World(service, people, program, stack)


def column(caller: str) -> Mapping[str, str]:
    """Return what a caller gets for each operation."""
    return {
        operation: found
        for each in CLASSES
        for found, callers in each["callers"].items()
        if caller in callers
        for operation in each["operations"]
    }


def test_each_operation_has_a_row() -> None:
    listed = Counter(name for each in CLASSES for name in each["operations"])
    assert [name for name, count in listed.items() if count > 1] == []
    assert OPERATIONS.keys() - listed.keys() == set(), "add them to the class with the same rights"
    assert listed.keys() - OPERATIONS.keys() == set()


def test_each_row_has_each_caller_once() -> None:
    for each in CLASSES:
        assert sorted(name for callers in each["callers"].values() for name in callers) == sorted(CALLERS)


def test_no_two_classes_have_the_same_rights() -> None:
    rights = [
        str(sorted((found, sorted(callers)) for found, callers in each["callers"].items())) for each in CLASSES
    ]
    assert [
        each["title"] for each, count in zip(CLASSES, map(rights.count, rights), strict=True) if count > 1
    ] == []


@pytest.mark.parametrize("caller", CALLERS)
async def test_a_caller_gets_what_the_matrix_says(world: World, caller: str) -> None:
    ask = await CALLERS[caller](world)
    found = {name: await ask(name) for name in sorted(OPERATIONS, key=lambda each: each == LAST)}
    assert found == column(caller)


def of_stranger(name: str) -> str:
    """Return what a key of another account gets, with ids of Alice."""
    refused, parameter = column("key")[name], name.partition("{")[2].partition("}")[0]
    if OPERATIONS[name]["operationId"] in OF_PEOPLE:
        return "person_required"
    if refused != YES:
        return refused
    return NOT_FOUND if parameter and parameter not in NAMES else OWN


async def test_a_stranger_finds_nothing_of_another_account(world: World) -> None:
    ask = await stranger(world)
    scoped = [name for name, each in OPERATIONS.items() if "x-scope" in each]
    lists_first = sorted(scoped, key=lambda each: "{" in each)  # before the refusals are in the stranger's audit
    found = {name: await ask(name) for name in lists_first}
    assert found == {name: of_stranger(name) for name in scoped}
