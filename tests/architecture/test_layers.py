"""The import contracts of .importlinter, checked on the code and on small packages that break them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source import ROOT


def lint_imports(folder: Path) -> tuple[int, str]:
    """Run the contracts on the package `builders` in the folder."""
    done = subprocess.run(
        [
            Path(sys.executable).with_name("lint-imports"),
            "--config",
            ROOT / ".importlinter",
            "--no-cache",
            "--no-logo",
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def build(folder: Path, files: dict[str, str]) -> None:
    """Write a small package `builders`; every folder becomes a package."""
    for name, text in files.items():
        file = folder / "builders" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        for parent in file.relative_to(folder).parents[:-1]:
            (folder / parent / "__init__.py").touch()


SMALL = {
    "app.py": "from builders.plans import api",
    "worker.py": "from builders.portfolio.renewals import jobs",
    "plans/api.py": "from builders.plans import replies, schemas, service",
    "plans/replies.py": "",
    "plans/schemas.py": "",
    "plans/service.py": "from builders.plans import planning, store\nfrom builders.aliases import service",
    "plans/planning.py": "",
    "plans/jobs.py": "",
    "plans/journal.py": "from builders.plans import planning",
    "plans/store.py": "from builders.plans import records\nfrom builders.kit import clock",
    "plans/records.py": "",
    "domains/service.py": "",
    "aliases/jobs.py": "",
    "aliases/service.py": "",
    "aliases/errors.py": "",
    "identity/service.py": "",
    "projects/service.py": "from builders.webhooks import service",
    "webhooks/service.py": "",
    "portfolio/renewals/jobs.py": "from builders.portfolio.renewals import service",
    "portfolio/renewals/service.py": "from builders.portfolio.team import service",
    "portfolio/parking/service.py": "",
    "portfolio/ledger/service.py": "",
    "portfolio/team/api.py": "",
    "portfolio/team/service.py": "from builders.identity import service",
    "mail/api/sent.py": "from builders.mail import service\nfrom builders.mail.schemas import sent",
    "mail/schemas/sent.py": "",
    "mail/jobs.py": "",
    "mail/service.py": "from builders.mail.store import sent",
    "mail/store/sent.py": "",
    "kit/values/clock.py": "",
}
LAYERS = "Packages import only packages of lower layers"
PORTFOLIO = "Subpackages of the portfolio"
FILES = "Inside a package"
SCHEMAS = "Only handlers know the wire format"
CYCLES = "No modules or packages import each other in a cycle"


def test_the_code_keeps_its_layers() -> None:
    code, output = lint_imports(ROOT / "src")
    assert code == 0, output
    assert "6 kept, 0 broken" in output


def test_a_small_package_that_keeps_them_passes(tmp_path: Path) -> None:
    build(tmp_path, SMALL)
    code, output = lint_imports(tmp_path)
    assert code == 0, output


@pytest.mark.parametrize(
    ("contract", "file", "text"),
    [
        pytest.param(LAYERS, "leads/service.py", "from builders.projects import service", id="sideways"),
        pytest.param(LAYERS, "worker.py", "from builders import app", id="sideways in the top layer"),
        pytest.param(LAYERS, "aliases/service.py", "from builders.domains import service", id="upward"),
        pytest.param(
            LAYERS, "kit/values/clock.py", "from builders.identity import service", id="the kit imports a package"
        ),
        pytest.param(LAYERS, "billing/service.py", "", id="unlisted package"),
        pytest.param(LAYERS, "shortcuts.py", "", id="unlisted module"),
        pytest.param(
            PORTFOLIO, "portfolio/billing/service.py", "from ..parking import service", id="portfolio sideways"
        ),
        pytest.param(
            PORTFOLIO, "portfolio/team/service.py", "from ..ledger import service", id="portfolio upward"
        ),
        pytest.param(PORTFOLIO, "portfolio/taxes/service.py", "", id="portfolio unlisted subpackage"),
        pytest.param(FILES, "aliases/store.py", "from . import service", id="store imports the service"),
        pytest.param(FILES, "mail/store/sent.py", "from .. import jobs", id="a file of a store imports jobs"),
        pytest.param(FILES, "aliases/records.py", "from . import errors", id="records import errors"),
        pytest.param(FILES, "aliases/service.py", "from . import jobs", id="service imports jobs"),
        pytest.param(FILES, "portfolio/team/service.py", "from . import api", id="service imports handlers"),
        pytest.param(
            FILES, "plans/planning.py", "from . import jobs", id="service imports jobs through another file"
        ),
        pytest.param(SCHEMAS, "plans/service.py", "from . import schemas", id="service imports schemas"),
        pytest.param(SCHEMAS, "plans/planning.py", "from . import schemas", id="topic imports schemas"),
        pytest.param(
            SCHEMAS, "mail/signing.py", "from .schemas import sent", id="topic imports a file of schemas"
        ),
        pytest.param(SCHEMAS, "plans/service.py", "from . import replies", id="service imports replies"),
        pytest.param(
            SCHEMAS, "app.py", "from builders.plans.replies import x", id="another package imports replies"
        ),
        pytest.param(CYCLES, "plans/planning.py", "from . import journal", id="cycle of topics"),
    ],
)
def test_a_broken_contract_is_reported(tmp_path: Path, contract: str, file: str, text: str) -> None:
    build(tmp_path, SMALL | {file: text})
    code, output = lint_imports(tmp_path)
    assert code == 1
    broken = [line for line in output.splitlines() if line.endswith("BROKEN")]
    assert len(broken) == 1, output
    assert broken[0].startswith(contract)
