"""Statements with optional filters are planned for the filters of the call."""

import pytest

from tests.architecture.source import Source, breaches, source
from tests.architecture.statements import ABSENT, planned_once

STORE = "builders/webhooks/store/deliveries.py"  # the constants are those of the imported module

# Statements that may be prepared, with the reason.
PLANNED_ONCE = {
    "builders/kit/db/queries.py:FINDERS": "`newest_rows` returns a statement that is not prepared",
    "builders/portfolio/renewals/store.py:DUE": "it is a part of SUM_DUE, which is not prepared",
    "builders/mail/store.py:FINISH": "it finds one message by its key",
    "builders/webhooks/store/deliveries.py:requeue_many": "it scans the deliveries of a destination",
    "builders/webhooks/store/deliveries.py:LIST_OF_DESTINATION": "it scans the deliveries of a destination",
    "builders/webhooks/store/deliveries.py:LIST_FAILED": "it scans the few failed deliveries",
}


@pytest.fixture(scope="module")
def errors(codebase: list[Source]) -> list[str]:
    """Return the prepared statements with optional filters, including the allowed ones."""
    return breaches(planned_once, codebase)


def test_statements_with_optional_filters_are_not_prepared(errors: list[str]) -> None:
    found = [each for each in errors if each.partition(": ")[0] not in PLANNED_ONCE]
    assert not found, "\n".join(found)


def test_every_allowed_statement_is_prepared(errors: list[str]) -> None:
    assert sorted(PLANNED_ONCE.keys() - {each.partition(": ")[0] for each in errors}) == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("LIST = ''\ncursor.execute(LIST, row, prepare=False)", 0),
        ("LIST = ''\ncursor.execute(LIST, row)", 1),
        ("LIST = ''\ncursor.execute(LIST, row, prepare=True)", 1),
        ("LIST = ''\ncursor.execute(FIND if one else LIST, row)", 1),
        ("LIST = ''\ncursor.execute(LIST, row, prepare=False)\ncursor.execute(LIST, row)", 1),
        ("LIST = ''", 1),
        ("FIND = ''\ncursor.execute(FIND, row)", 0),
    ],
)
def test_a_prepared_statement_with_optional_filters_is_reported(text: str, count: int) -> None:
    assert len(list(planned_once(source(STORE, text)))) == count


@pytest.mark.parametrize(
    ("text", "may_be"),
    [
        ("WHERE %(status)s::text IS NULL OR status = %(status)s", True),
        ("WHERE %(wanted)s::text[] is null\n OR event = ANY(%(wanted)s)", True),
        ("WHERE (%(status)s::text IS NULL AND status <> 'gone' OR status = %(status)s)", True),
        ("WHERE expires_at IS NULL OR expires_at > %(now)s", False),
        ("SELECT CASE WHEN %(until)s::timestamptz IS NULL THEN 'claimed' ELSE 'held' END", False),
    ],
)
def test_optional_filters_are_recognized(text: str, *, may_be: bool) -> None:
    assert bool(ABSENT.search(text)) == may_be
