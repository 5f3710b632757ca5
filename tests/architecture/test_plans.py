"""Lists with filters that may be absent are planned for the filters they get."""

import pytest

from tests.architecture.source import Source, breaches, source
from tests.architecture.statements import ABSENT, planned_once

STORE = "builders/webhooks/store/deliveries.py"  # its constants are taken from the module itself

# What may be prepared all the same, and why.
PLANNED_ONCE = {
    "builders/mail/store.py:FINISH": "one message by its key, whatever else is asked",
    "builders/webhooks/store/deliveries.py:REQUEUE_MANY": "walks along a destination's deliveries anyway",
    "builders/webhooks/store/deliveries.py:LIST_OF_DESTINATION": "walks along a destination's deliveries anyway",
    "builders/webhooks/store/deliveries.py:LIST_FAILED": "walks along the few that failed anyway",
}


@pytest.fixture(scope="module")
def said(codebase: list[Source]) -> list[str]:
    """What is prepared and should not be, meant or not."""
    return breaches(planned_once, codebase)


def test_a_list_is_planned_for_the_filters_it_gets(said: list[str]) -> None:
    found = [each for each in said if each.partition(": ")[0] not in PLANNED_ONCE]
    assert not found, "\n".join(found)


def test_everything_that_may_be_planned_once_is(said: list[str]) -> None:
    assert sorted(PLANNED_ONCE.keys() - {each.partition(": ")[0] for each in said}) == []


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
def test_a_list_that_is_planned_once_is_reported(text: str, count: int) -> None:
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
def test_filters_that_may_be_absent_are_known(text: str, *, may_be: bool) -> None:
    assert bool(ABSENT.search(text)) == may_be
