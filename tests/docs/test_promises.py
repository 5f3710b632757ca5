"""docs/reference/promises.md: each promise is a sentence of a page, and has tests that exist."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "promises.md"
FEWEST = 50  # promises, at least: the page is read
_ROW = re.compile(r'^\| "(?P<sentence>[^|]+)" \| \[[^\]]+\]\((?P<page>[^)#]+)\) \|(?P<tests>[^|]*)\|$')
_NAMED = re.compile(r"`(tests/[\w/]+\.py::\w+)`")
_TEST = re.compile(r"`([^`]+)`")


class Promise(NamedTuple):
    """A line of the page."""

    sentence: str
    page: Path
    tests: list[str]


def read(text: str) -> Iterator[Promise]:
    """Yield the promises of the tables. Raise ValueError for a line of another form."""
    for line in text.splitlines():
        if line.startswith("|") and not line.startswith(("| Promise ", "|---")):
            found = _ROW.fullmatch(line)
            if found is None:
                raise ValueError(f"no promise with its page and its tests: {line}")
            page = (PAGE.parent / found["page"]).resolve()
            yield Promise(found["sentence"], page, _TEST.findall(found["tests"]))


def faults_of(promise: Promise) -> Iterator[str]:
    """Yield what is wrong with a promise."""
    if _plain(promise.sentence) not in _plain(promise.page.read_text(encoding="utf-8")):
        yield f"{promise.page.name} does not say: {promise.sentence}"
    if not promise.tests:
        yield f"no test proves: {promise.sentence}"
    yield from (f"there is no test {each}" for each in promise.tests if not exists(each))


def exists(test: str) -> bool:
    """Return whether there is a test, named as pytest does."""
    path, _, name = test.partition("::")
    return name in _tests_of(ROOT / path)


def _plain(text: str) -> str:
    return " ".join(text.split())


@cache
def _tests_of(path: Path) -> set[str]:
    """Return the names of the tests of a file; none if it does not exist."""
    if not path.is_file():
        return set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    defined = (each for each in tree.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
    return {each.name for each in defined if each.name.startswith("test_")}


def test_each_promise_is_made_and_proved() -> None:
    promises = list(read(PAGE.read_text(encoding="utf-8")))
    assert len(promises) >= FEWEST
    assert [fault for each in promises for fault in faults_of(each)] == []


def test_each_test_that_a_page_names_exists() -> None:
    named = {
        each
        for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
        for each in _NAMED.findall(page.read_text(encoding="utf-8"))
    }
    assert len(named) > FEWEST
    assert [each for each in sorted(named) if not exists(each)] == []


MADE = '| "A plan claims nothing." | [README](../../README.md) |'
OWN = "`tests/docs/test_promises.py::test_each_promise_is_made_and_proved`"


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (f"{MADE} {OWN} |", None),
        (f'| "A plan claims everything." | [README](../../README.md) | {OWN} |', "README.md does not say"),
        (f"{MADE} |", "no test proves"),
        (f"{MADE} `tests/docs/test_x.py::test_y` |", "there is no test"),
    ],
    ids=["right", "another sentence", "no test", "an unknown test"],
)
def test_a_wrong_promise_is_found(row: str, fault: str | None) -> None:
    [promise] = read(row)
    found = list(faults_of(promise))
    assert [fault in each for each in found if fault is not None] == [True] * len(found)
    assert bool(found) == (fault is not None)


def test_a_line_of_another_form_is_refused() -> None:
    with pytest.raises(ValueError, match="no promise"):
        list(read("| A plan claims nothing. | README | |"))
