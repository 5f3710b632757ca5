import gc
import logging
from collections.abc import Iterator

import pytest

from builders.kit.process import log
from tests import log_lines
from tests.kit.process.log.written import Written


@pytest.fixture(autouse=True)
def _nothing_else_is_logged() -> Iterator[None]:
    """Keep garbage of earlier tests, such as a task whose exception nobody read, from being reported here."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(autouse=True)
def _logging_is_put_back() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    # As for all tests: structlog itself shows exceptions with all variables, for seconds.
    log_lines.write_errors_only()
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def written() -> Written:
    written = Written()
    log.configure(stream=written.stream)
    return written
