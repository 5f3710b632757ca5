"""Where the output of `bld` goes: any encoding, no output at all, a full disk, a reader that has gone."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from codegen.generate import PACKAGE
from tests.clients.python.far_end import Answer, answering, in_turn

NOTE = "Ünï 名 😀"
ALIAS: Mapping[str, Any] = {
    "id": "0193a1b2-0000-7000-8000-000000000001",
    "address": "ada@harbour.example",
    "status": "active",
    "enabled": True,
    "note": NOTE,
    "destinations": [],
    "renews_at": None,
}
SHOW = ("names", "show", str(ALIAS["id"]))
ENCODINGS = ["latin-1", "cp1252", "cp932", "utf-8"]  # typer writes UTF-8 where Python says ASCII
PAGE = Answer(200, {"items": [ALIAS] * 3000, "next_cursor": None})


def run(shell: str, address: str = "http://127.0.0.1:1", **env: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of the shell, in which `bld` is the command line."""
    given = {
        **os.environ,
        "BUILDERS_API_URL": address,
        "BUILDERS_API_KEY": "svc_live_key",
        "PYTHONPATH": str(PACKAGE.parent),
        **env,
    }
    define = f'bld() {{ "{sys.executable}" -m builders_client.cli "$@"; }}\n'
    return subprocess.run(["bash", "-c", define + shell], env=given, capture_output=True, check=False, timeout=120)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_character_that_the_encoding_lacks_has_a_substitute(encoding: str) -> None:
    with answering(in_turn(Answer(200, ALIAS))) as far_end:
        words = f"bld {' '.join(SHOW)}"
        text, as_json = (
            run(each, far_end.address, PYTHONIOENCODING=encoding) for each in (words, f"{words} --json")
        )
    assert (text.returncode, text.stderr, as_json.stderr) == (0, b"", b"")
    assert NOTE.encode(encoding, "replace") in text.stdout
    assert json.loads(as_json.stdout.decode(encoding))["note"] == NOTE  # a program gets the value itself


@pytest.mark.parametrize("encoding", ["cp1252:strict", "ascii"])
def test_help_is_printed_in_each_encoding(encoding: str) -> None:
    for words in ("bld --help", "bld names claim --help", "bld --map json"):
        assert run(words, PYTHONIOENCODING=encoding).returncode == 0


def test_bytes_of_a_file_are_printed_as_they_are() -> None:
    content = f"domain\r\n{NOTE}\r\n".encode()
    csv = Answer(200, content, {"Content-Type": "text/csv"})
    with answering(in_turn(csv)) as far_end:
        for words in ("bld portfolio export", "bld api portfolio_export_portfolio_csv"):
            assert run(words, far_end.address, PYTHONIOENCODING="latin-1").stdout == content


@pytest.mark.parametrize("words", ["--version", "--help", "--map json", "names list", "names list --json"])
@pytest.mark.parametrize(
    ("place", "said"), [(">&-", b"The standard output is closed."), (">/dev/full", b"No space left on device.")]
)
def test_an_output_that_cannot_be_written_is_one_sentence(words: str, place: str, said: bytes) -> None:
    with answering(in_turn(PAGE)) as far_end:
        done = run(f"bld {words} {place}", far_end.address)
    assert (done.returncode, said in done.stderr, b"Next: " in done.stderr) == (1, True, True), done.stderr
    assert done.stderr.count(b"\n") <= 2


@pytest.mark.parametrize(
    "words", ["names list", "names list --json", "names list --jsonl", "--map json", "--help"]
)
def test_a_reader_that_has_gone_is_no_error(words: str) -> None:
    with answering(in_turn(PAGE)) as far_end:
        done = run(f"bld {words} | head -1", far_end.address)
    assert (done.returncode, done.stderr, done.stdout.count(b"\n")) == (0, b"", 1)


def test_a_program_sees_that_nobody_read_its_output() -> None:
    with answering(in_turn(PAGE)) as far_end:
        done = run("bld names list | head -1 >/dev/null; exit ${PIPESTATUS[0]}", far_end.address)
    assert done.returncode == 141


@pytest.mark.parametrize("place", ["2>&-", "<&-", "<&- 2>&-"])
def test_other_streams_can_be_closed(place: str) -> None:
    with answering(in_turn(Answer(200, ALIAS))) as far_end:
        done = run(f"bld {' '.join(SHOW)} {place}", far_end.address)
    assert (done.returncode, b"ada@harbour.example" in done.stdout) == (0, True)


def test_a_refusal_with_text_that_no_encoding_has_is_printed() -> None:
    refusal = b'{"status": 404, "code": "later", "detail": "No \\udcff \\ud83d\\ude00.", "next_action": {}}'
    with answering(in_turn(Answer(404, refusal))) as far_end:
        done = run(f"bld {' '.join(SHOW)}", far_end.address, PYTHONIOENCODING="latin-1")
    assert (done.returncode, b"No ? ?." in done.stderr) == (1, True), done.stderr


def test_a_file_that_is_not_one_is_not_written(tmp_path: Path) -> None:
    page = Answer(200, b"<html></html>", {"Content-Type": "text/html"})
    with answering(in_turn(page)) as far_end:
        for words in ("api portfolio_export_portfolio_csv", "portfolio export"):
            done = run(f"bld {words} -o {tmp_path}/file", far_end.address)
            assert (done.returncode, b"text/html" in done.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == []
