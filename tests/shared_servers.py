"""Servers that the tests of several files share, until the last test: an idle one takes a fiftieth of a core."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, TypeVar

import pytest

T = TypeVar("T")
NEXT_TEST = pytest.StashKey[str]()  # the node id of the next test of this worker
_RUNNING = pytest.StashKey[dict[str, tuple[ExitStack, Any]]]()  # by group

# The tests of a group share what takes seconds to start or to read, so one worker runs them.
GROUPS = {
    "tests/architecture/": "architecture",
    "tests/fuzz/": "served",
    "tests/docs/test_readme.py": "demo",
    "tests/docs/test_how_tos.py": "demo",
    "tests/docs/test_python_client.py": "demo",
    "tests/docs/test_snippets.py": "demo",
    "tests/examples/": "demo",
    "tests/deployed/": "deployed",
    "tests/cli/embedded/": "embedded",
    "tests/citus/": "citus",  # they kill nodes
}


def group_of(nodeid: str) -> str:
    """Return the group of a test, which is its file if the file is in none."""
    file = nodeid.partition("::")[0]
    return next((group for start, group in GROUPS.items() if file.startswith(start)), file)


@contextmanager
def shared(request: pytest.FixtureRequest, start: Callable[[], AbstractContextManager[T]]) -> Iterator[T]:
    """Start the server of the group of a module, unless it runs; end it unless the next test is of the group."""
    group, stash = group_of(request.node.nodeid), request.session.stash
    running = stash.setdefault(_RUNNING, {})
    if group not in running:
        stack = ExitStack()
        running[group] = stack, stack.enter_context(start())
    yield running[group][1]
    if group_of(stash[NEXT_TEST]) != group:
        running.pop(group)[0].close()


def end_all(session: pytest.Session) -> None:
    """End the servers of a run that was stopped before the last test of a group."""
    for stack, _ in session.stash.get(_RUNNING, {}).values():
        stack.close()
