"""The operator's commands of the pages, typed as they stand there, against the accounts of the demo."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from builders.cli.main import main
from builders.demo.service import ACCOUNTS
from builders.kit.process import log

DOCS = Path(__file__).parents[2] / "docs"
# Ends by itself never, needs a message or a folder of the system, or reads what the page before has made.
LEFT_OUT = ("serve", "worker", "mail show", "doctor", "aliases export", "leads erase")
_COMMAND = re.compile(r"^ {4,}(?:script/)?builders ((?:.*\\\n)*.*)$", re.MULTILINE)
_PLACE = re.compile(r"…|\b[A-Z]{2,}_ID\b|\bINV-\d|\bKEY_ID\b")


def commands(page: Path) -> list[list[str]]:
    """The words of each command of a page that can be typed as it stands."""
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
    log.configure(level="error")
