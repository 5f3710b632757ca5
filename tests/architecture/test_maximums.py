"""Each maximum of what an account holds is declared, and a test meets it."""

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from builders.app import create_app
from builders.kit import errors
from builders.kit.limits import maximums
from builders.kit.process.settings import Settings
from tests.architecture.others import Others, marks
from tests.architecture.source import Source, breaches, source

REFUSALS = re.compile(r"(?!rate_|api_key_limited).*_limit|too_many_.*")  # codes of errors above a maximum
# A number in capitals, with a comment that names its holder.
UNDECLARED = re.compile(
    r"^_?[A-Z_]*(MAX|LIMIT|PER)[A-Z_]* = [\d_]+ +# .*\b(an?|one|the) (account|portfolio|team|sandbox)\b"
)
ELSEWHERE = {
    "too_many_entries": "a bound of one cell",
}


def undeclared(file: Source) -> Iterator[str]:
    """Yield constants that are a maximum of an account, and are not declared."""
    for number, line in enumerate(file.text.splitlines(), start=1):
        if UNDECLARED.match(line):
            yield f"{file.path}:{number}: use maximums.declare for {line.split(' ')[0]}"


def test_a_test_meets_each_declared_maximum(others: Others) -> None:
    create_app(Settings())
    marked = set(others.found[marks])
    assert marked == {each.name for each in maximums.list_maximums()}


def test_each_refusal_above_a_maximum_has_a_declared_one() -> None:
    create_app(Settings())
    codes = {each.code for each in errors.list_problem_types() if REFUSALS.fullmatch(each.code)}
    assert codes - ELSEWHERE.keys() <= {each.code for each in maximums.list_maximums()}


def test_each_maximum_of_an_account_is_declared(codebase: list[Source]) -> None:
    assert breaches(undeclared, codebase) == []


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("MAX_PROJECTS = 1000  # active projects of an account", 1),
        ("MAX_OPEN = 5  # imports of a portfolio that have not ended", 1),
        ("MAX_NAME = 80  # characters", 0),
        ('MAX_OPEN = maximums.declare("open", 5, of="portfolio", counts="Open ones.", code="too_many")', 0),
    ],
)
def test_the_rule_finds_constants_with_their_holder(line: str, count: int) -> None:
    assert len(breaches(undeclared, [source("builders/x.py", line)])) == count


def test_a_maximum_is_declared_once() -> None:
    known = Counter(each.name for each in maximums.list_maximums())
    maximums.declare_setting(
        "confirmations_per_day", of="account", counts="Confirmations to new destinations in a day.", code=None
    )
    assert Counter(each.name for each in maximums.list_maximums()) == known
    with pytest.raises(ValueError, match="declared twice"):
        maximums.declare("confirmations_per_day", 1, of="account", counts="", code="")
