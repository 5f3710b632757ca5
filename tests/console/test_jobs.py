"""Each operation has a page of the console, or a reason in docs/console.toml why it has none."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from docs import console
from docs.console import Job
from docs.generate import document

SAID = console.read_file()
JOBS = {each.operation: each for each in console.list_jobs(document())}


def without_answer(jobs: Mapping[str, Job]) -> set[str]:
    """Return the operations with neither a page nor a reason."""
    return {name for name, each in jobs.items() if not each.pages and not each.reason} - SAID["missing"].keys()


def test_each_operation_has_a_page_or_a_reason() -> None:
    assert without_answer(JOBS) == set()


def test_an_operation_with_neither_is_found() -> None:
    more: dict[str, Any] = json.loads(json.dumps(document()))
    more["paths"]["/v1/new"] = {"get": {}}

    assert without_answer({each.operation: each for each in console.list_jobs(more)}) == {"GET /v1/new"}


@pytest.mark.parametrize("table", ["also", "reasons", "missing"])
def test_the_file_names_operations_that_exist(table: str) -> None:
    assert SAID[table].keys() - JOBS.keys() == set()


def test_the_file_repeats_nothing_that_the_pages_say() -> None:
    assert [name for name in (*SAID["reasons"], *SAID["missing"]) if JOBS[name].pages] == []
    assert SAID["reasons"].keys() & SAID["missing"].keys() == set()


@pytest.mark.parametrize("place", sorted({each for places in SAID["also"].values() for each in places}))
def test_a_named_page_or_form_exists(place: str) -> None:
    assert console.pages_of(place)


@pytest.mark.parametrize("place", ["page no-such", "form no-such", "names"])
def test_a_page_or_form_that_does_not_exist_is_found(place: str) -> None:
    assert not console.pages_of(place)


def test_each_person_has_jobs() -> None:
    assert {each for job in JOBS.values() for each in job.people if job.pages} == set(console.PEOPLE)
