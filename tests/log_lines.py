"""What no log line of the service holds: addresses, subjects, tokens. The suite looks through each line."""

import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from email.parser import BytesHeaderParser
from email.policy import default
from io import StringIO
from pathlib import Path

import pytest

from builders.kit.http import access_log
from builders.kit.process import log

# What random tokens look like: 24 bytes or more as base64url. Ids and digests have no capital letters.
_RANDOM = r"(?=[\w-]*[A-Z])(?=[\w-]*[a-z])(?=[\w-]*\d)[A-Za-z0-9_-]{32,}"
_HIDDEN = re.compile(
    r"(?<![\w.+*-])(?<!://)[\w.+*-]+(?:@|%40)[\w-]+(?:\.[\w-]+)+"  # an address, also a masked one
    r"|svc_(?:live|test|grant|code|agent|refresh)_\w"  # keys and tokens, whose text `***` would follow
    r"|whsec_[\w+/]"
    r"|\beyJ[\w-]+\.[\w-]+\."  # a JWT
    r"|[\"']subject[\"']\s?:|\bSubject:"
    rf"|(?<![\w-])(?<!\\){_RANDOM}(?![\w-])"
)
# Loggers of programs that play others in the tests.
_OF_OTHERS = re.compile(r'"logger":"(?:mail\.log|httpx|httpcore|mcp\.client|aiohttp\.access)')
_KEPT = 10_000  # lines of a test


class Watched(log.Lines):
    """Writes lines as the service does, and keeps those of the present test."""

    def __init__(self) -> None:
        super().__init__()
        self._kept = deque[str](maxlen=_KEPT)

    def write(self, line: str) -> None:
        """Write lines, and keep them."""
        self._kept.append(line)
        super().write(line)

    debug = info = warning = error = critical = write

    def take(self) -> list[str]:
        """Return the lines since the last call."""
        taken = [each for lines in self._kept for each in lines.splitlines()]
        self._kept.clear()
        return taken


class _Errors(StringIO):
    """Shows errors on stderr, and nothing else."""

    def write(self, text: str) -> int:
        if '"level":"error"' in text or '"level":"critical"' in text:
            sys.stderr.write(text)
        return len(text)


def find_wrong(lines: Iterable[str], *, subjects: Iterable[str] = ()) -> list[str]:
    """Return the lines of the service that hold an address, a token, or one of the subjects."""
    found = (each for each in lines if _HIDDEN.search(each) or any(text in each for text in subjects))
    return [each for each in found if not _OF_OTHERS.search(each)]


def find_wrong_printed(text: str) -> list[str]:
    """Return such lines of what processes print. Messages to the operator, as keys of a demo, are none."""
    return find_wrong(each for each in text.splitlines() if each.startswith('{"timestamp":'))


@contextmanager
def checked(outbox: Path | None = None) -> Iterator[None]:
    """Fail if a log line of the block holds an address, a token, or the subject of an email in the outbox."""
    yield
    access_log.flush()
    wrong = find_wrong(lines.take(), subjects=read_subjects(outbox) if outbox else ())
    assert not wrong, "\n".join(wrong)


def check_report(report: pytest.TestReport) -> None:
    """Fail a test whose processes print such a line to the stderr that they inherit."""
    if report.passed and (wrong := find_wrong_printed(report.capstderr)):
        report.outcome, report.longrepr = "failed", "\n".join(wrong)


def read_subjects(outbox: Path) -> set[str]:
    """Return the subjects of the emails in a development outbox."""
    return {
        str(BytesHeaderParser(policy=default).parsebytes(each.read_bytes())["Subject"])
        for each in outbox.glob("*.eml")
    }


def write_errors_only() -> None:
    """Look through all log lines of this process, and show only errors."""
    log.lines = lines
    log.configure(level="info", stream=_Errors(), style="json")


lines = Watched()  # of this process
