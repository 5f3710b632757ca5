"""The operator's commands of the pages, typed as they stand there, against the accounts of the demo."""

import json
import re
import shlex
import sys
import tempfile
import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from builders.cli.main import main
from builders.demo.service import ACCOUNTS
from tests import log_lines
from tests.docs import walks
from tests.docs.walks import Step, walk

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
HOW_TO = sorted((DOCS / "how-to").glob("*.md"))
# Commands that never end, need a running service, a message, records in DNS, a cluster or a system folder, or read
# what an earlier page made.
LEFT_OUT = (
    "serve",
    "worker",
    "reload",
    "status",
    "top",
    "demo registrars",
    "mail show",
    "doctor",
    "distribute",
    "domains check",
    "aliases export",
    "leads erase",
    "accounts erase",
    "postfix",
    "backup",  # of an embedded database: test_the_back_up_page_saves_and_restores
)
_COMMAND = re.compile(r"^ {4,}(?:script/)?builders ((?:.*\\\n)*.*)$", re.MULTILINE)
_BLOCK = re.compile(r"(?:^ {4}.*\n(?:\n(?= {4}))?)+", re.MULTILINE)
_ASSUMES = re.compile(r"\$(?:API|LIVE|TEST)\b|^ +(?:export BUILDERS_|builders [a-z])", re.MULTILINE)
_PLACE = re.compile(r"…|\b[A-Z]{2,}_ID\b|\bINV-\d|\bKEY_ID\b")


def commands(page: Path) -> list[list[str]]:
    """Return the words of each command of a page that can be typed as it stands."""
    found = (each.replace("\\\n", " ") for each in _COMMAND.findall(page.read_text(encoding="utf-8")))
    return [shlex.split(each) for each in found if not each.startswith(LEFT_OUT) and not _PLACE.search(each)]


PAGES = [page for page in sorted(DOCS.rglob("*.md")) if "reference" not in page.parts and commands(page)]


ISSUERS = '[{"issuer": "https://login.example/realms/staff", "audience": "https://builders.example"}]'


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_work_as_they_stand(
    page: Path, conninfo: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("BUILDERS_DATABASE_URL", conninfo)
    monkeypatch.setenv("BUILDERS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("BUILDERS_LOG_LEVEL", "error")
    monkeypatch.setenv("BUILDERS_OIDC_ISSUERS", ISSUERS)
    for email in ACCOUNTS:
        CliRunner().invoke(main, ["accounts", "create", "--email", email])  # or it is there
    for words in commands(page):
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 0, f"builders {shlex.join(words)}\n{result.output}"
    log_lines.write_errors_only()


def test_a_page_says_where_its_commands_are_explained() -> None:
    texts = {page.stem: page.read_text(encoding="utf-8") for page in HOW_TO}
    found = [name for name, text in texts.items() if _ASSUMES.search(text) and "](../index.md#do)" not in text]
    assert found == []


def test_settings_of_a_page_are_exported() -> None:
    """A line `NAME=value` alone sets a variable of the shell, which the service does not see."""
    alone = re.compile(r"^ {4,}BUILDERS_\w+=\S*$", re.MULTILINE)
    assert [page.stem for page in HOW_TO if alone.search(page.read_text(encoding="utf-8"))] == []


def test_the_back_up_page_saves_and_restores(demo: Mapping[str, str]) -> None:
    page = (DOCS / "how-to" / "back-up.md").read_text(encoding="utf-8")
    blocks = [textwrap.dedent(block) for block in _BLOCK.findall(page)]
    python = shlex.join(["env", f"PYTHONPATH={ROOT / 'src'}", sys.executable])
    begin = f"export BUILDERS_DATA_DIR={demo['.data']}\n"
    listed = "printf '%s' '--'\nBUILDERS_DATA_DIR=$PWD/{} .venv/bin/python -m builders accounts list --json\n"
    lines = (begin, *blocks, listed.format("restored"), listed.format("dumped"))
    steps = [Step(lines=each, answer=None) for each in lines]
    places = {
        "\nbuilders backup": "\n.venv/bin/python -m builders backup",
        ".venv/bin/python": python,
        ".data": demo[".data"],
        "/mnt/backups": "backups",
    }
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)  # as root, PostgreSQL's own user must be able to reach its folder in it
        *_, restored, dumped = walk(steps, places=places, folder=Path(folder), within_s=400)
    for found in (restored, dumped):
        assert {account["email"] for account in json.loads(found.removeprefix("--"))} >= {*ACCOUNTS}


def test_no_example_sets_an_expiry_that_passes() -> None:
    """A page computes such dates: an example with an expired domain has other answers."""
    passing = re.compile(r'"expires_at": ?"20[2-8]\d-[^…]*$|^[a-z.-]+\.[a-z]+,20\d\d-.*', re.MULTILINE)
    for page in (*HOW_TO, *(DOCS / "tutorial").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        typed = "".join((*(step.lines for step in walks.read(text)), *_BLOCK.findall(text)))
        assert passing.findall(typed) == [], page.stem
