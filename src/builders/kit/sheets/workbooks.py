"""Files that are no text: workbooks, which a process of its own reads, and others, which are refused.

A workbook of a stranger can ask a library for more memory than the machine has, which aborts its process. So a
process of its own reads it, with limits (workbook_program.py); a serving process lives on.
"""

import asyncio
import json
import math
import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pydantic_core import from_json

from builders.kit.errors import Invalid
from builders.kit.http.heavy_requests import HeavyRequestRunning
from builders.kit.http.json_bodies import WORKBOOKS
from builders.kit.process import log
from builders.kit.sheets.encodings import detect_encoding
from builders.kit.sheets.sources import Options, SentTable, Source

max_time_s = 30.0  # of a process that reads a workbook; its processor time has a limit of its own
MAX_PROCESSES = 2  # that read workbooks at once, for all accounts of this process
wait_s = 10.0  # for one of them
_MAX_OUTPUT = 120 * 1024 * 1024  # bytes: the cells, and their marks in JSON
program = "builders.kit.sheets.workbook_program"
_SENT_AS = "Send a CSV file or a workbook (.xlsx, .xls, .ods)."
# What a file is, by how its bytes begin.
_KINDS = {
    b"%PDF-": "a PDF document",
    b"\x1f\x8b": "compressed with gzip",
    b"{\\rtf": "an RTF document",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"GIF8": "an image",
    b"7z\xbc\xaf": "a 7z archive",
    b"Rar!": "a RAR archive",
    b"PK\x05\x06": "an empty ZIP archive",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ": "compressed with xz",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
    b"SQLite format 3\0": "a database",
}
# What a text is that is no table, by how it begins, in lower case.
_TEXTS = {
    re.compile(
        r"<(?:!doctype html|!--"
        r"|(?:html|head|body|table|meta|title|style|script|link|div|span|center|font|p|br|pre|h\d)\b)"
    ): "an HTML page",
    re.compile(r"mime-version:"): "a web page in one file (MHTML)",
    re.compile(r"<(?:\?xml|(?:ss:)?workbook)\b"): "an XML document",
    re.compile(r"""\{\s*"|\[\s*["{[]"""): "JSON",
    re.compile(r"%pdf-"): "a PDF document",  # behind a byte order mark or blank lines
}
_SAMPLE = 1024  # bytes
_MAX_ERROR = 1_000  # characters
_log = log.get_logger()
# Threads of their own: a workbook that waits takes none, and a request that is cancelled leaves the queue.
_threads = ThreadPoolExecutor(MAX_PROCESSES, "workbooks")
_MESSAGES = {
    "workbook_too_complex": (
        "The workbook is too large: {why}. Save its sheet as CSV, or delete sheets and cells far from the table."
    ),
    "workbook_encrypted": "The workbook has a password. Save it without one.",
    "workbook_invalid": "The file is damaged or no workbook: {why}. Open it in a spreadsheet program and save it.",
    "file_unsupported": "The file is {what}. " + _SENT_AS,
    "sheet_unknown": "The workbook has no such sheet. It has: {sheets}.",
}


def is_workbook(content: bytes) -> bool:
    """Return whether a file can be a workbook, by its first bytes."""
    return content.startswith(WORKBOOKS)


def refuse_other_kinds(content: bytes) -> None:
    """Raise Invalid for a file that is neither a text with a table nor a workbook."""
    what = next((each for start, each in _KINDS.items() if content.startswith(start)), None)
    if what is None:
        sample = content[:_SAMPLE]
        text = sample.decode(detect_encoding(sample).name, "replace").lstrip("\ufeff \t\r\n").lower()
        what = next((each for start, each in _TEXTS.items() if start.match(text)), None)
    if what is not None:
        raise _refusal({"refused": "file_unsupported", "what": what})


async def open_sent(sent: SentTable[Options]) -> SentTable[Options]:
    """Return the rows of a workbook in place of its bytes; any other table unchanged.

    Raise Invalid for a file of another kind, and a workbook that cannot be read. Raise HeavyRequestRunning.
    """
    if sent.source is not Source.FILE:
        return sent
    if not is_workbook(sent.content):
        refuse_other_kinds(sent.content)
        return sent
    reading = _Reading(sent.content, sent.options.sheet)
    future = _threads.submit(reading.run)
    output = asyncio.wrap_future(future)
    try:
        await asyncio.wait([output], timeout=wait_s)
        if future.cancel():  # it has not begun
            raise HeavyRequestRunning("Other workbooks are being read.", retry_after=math.ceil(wait_s))
        return replace(sent, source=Source.WORKBOOK, content=await output)
    except asyncio.CancelledError:
        output.cancel()
        reading.kill()
        raise


def open_at_once(sent: SentTable[Options]) -> SentTable[Options]:
    """Return the same as `open_sent`, without an event loop; for a command."""
    if not is_workbook(sent.content):
        refuse_other_kinds(sent.content)
        return sent
    return replace(sent, source=Source.WORKBOOK, content=_Reading(sent.content, sent.options.sheet).run())


class _Reading:
    """A process that reads a workbook."""

    def __init__(self, content: bytes, sheet: str | None) -> None:
        self._content, self._options = content, json.dumps({"sheet": sheet}).encode()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_killed = False
        self._error = ""  # the end of what the program says of its own fault

    def run(self) -> bytes:
        """Return the output of the program. Raise Invalid."""
        output, code = self._exchange()
        if code < 0 or len(output) > _MAX_OUTPUT:  # a limit ended it
            raise _refusal({"refused": "workbook_too_complex", "why": "reading it takes too much memory or time"})
        if code or not output:  # the program has a fault, or is not installed as a whole
            _log.error("workbook_program_failed", code=code, error=self._error)
            raise _refusal({"refused": "workbook_invalid", "why": "it cannot be read"})
        first = from_json(output.partition(b"\n")[0])
        if "refused" in first:
            raise _refusal(first)
        return output

    def kill(self) -> None:
        """End the process; it has nothing to clean up."""
        self._is_killed = True
        if self._process is not None:
            self._process.kill()

    def _exchange(self) -> tuple[bytes, int]:
        """Return the output and the exit code of the program.

        It finds the same modules, and nothing else of the environment: no secrets.
        """
        with subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-P", "-B", "-m", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            cwd="/",
        ) as process:
            self._process = process
            timer = threading.Timer(0 if self._is_killed else max_time_s, process.kill)
            timer.start()
            try:
                if process.stdin is None or process.stdout is None or process.stderr is None:
                    raise RuntimeError("The process has no pipes.")
                with suppress(BrokenPipeError), process.stdin:  # it ended before it read all; a close writes, too
                    process.stdin.write(self._options + b"\n")
                    process.stdin.write(self._content)
                output = process.stdout.read(_MAX_OUTPUT + 1)
                if len(output) > _MAX_OUTPUT:
                    process.kill()
                self._error = process.stderr.read().decode("utf-8", "replace")[-_MAX_ERROR:]
                return output, process.wait()
            finally:
                process.kill()
                timer.cancel()


def _refusal(answer: dict[str, Any]) -> Invalid:
    code = answer["refused"]
    sheets = ", ".join(answer.get("sheets", ())) or "none"
    message = _MESSAGES[code].format(why=answer.get("why"), what=answer.get("what"), sheets=sheets)
    return Invalid(("body", "sheet") if code == "sheet_unknown" else ("body",), message, code)
