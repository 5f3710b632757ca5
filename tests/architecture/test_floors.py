"""The import contracts of .importlinter, held against the house and against small houses that break them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source import ROOT


def lint_imports(folder: Path) -> tuple[int, str]:
    """Runs the contracts on the package `builders` in the folder."""
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
    """Writes a small package `builders`; every folder becomes a package."""
    for name, text in files.items():
        file = folder / "builders" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        for parent in file.relative_to(folder).parents[:-1]:
            (folder / parent / "__init__.py").touch()


SMALL = {
    "app.py": "from builders.sandbox import api",
    "worker.py": "from builders.portfolio.renewals import jobs",
    "sandbox/api.py": "from builders.sandbox import replies, schemas, service",
    "sandbox/replies.py": "",
    "sandbox/schemas.py": "",
    "sandbox/service.py": "from builders.sandbox import plan, store\nfrom builders.aliases import service",
    "sandbox/plan.py": "",
    "sandbox/jobs.py": "",
    "sandbox/journal.py": "from builders.sandbox import plan",
    "sandbox/store.py": "from builders.sandbox import records\nfrom builders.kit import clock",
    "sandbox/records.py": "",
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
FLOORS = "Rooms import only rooms on lower floors"
WING = "Rooms of the portfolio wing"
ROOMS = "Inside a room"
SCHEMAS = "What goes over the wire"
RINGS = "No modules or rooms import each other in a ring"


def test_the_house_keeps_its_floors() -> None:
    code, said = lint_imports(ROOT / "src")
    assert code == 0, said
    assert "6 kept, 0 broken" in said


def test_a_small_house_in_order_is_kept(tmp_path: Path) -> None:
    build(tmp_path, SMALL)
    code, said = lint_imports(tmp_path)
    assert code == 0, said


@pytest.mark.parametrize(
    ("contract", "file", "text"),
    [
        pytest.param(FLOORS, "leads/service.py", "from builders.projects import service", id="sideways"),
        pytest.param(FLOORS, "worker.py", "from builders import app", id="sideways on top"),
        pytest.param(FLOORS, "aliases/service.py", "from builders.domains import service", id="upward"),
        pytest.param(
            FLOORS, "kit/values/clock.py", "from builders.identity import service", id="out of the cellar"
        ),
        pytest.param(FLOORS, "billing/service.py", "", id="unlisted room"),
        pytest.param(FLOORS, "shortcuts.py", "", id="unlisted module"),
        pytest.param(WING, "portfolio/billing/service.py", "from ..parking import service", id="wing sideways"),
        pytest.param(WING, "portfolio/team/service.py", "from ..ledger import service", id="wing upward"),
        pytest.param(WING, "portfolio/taxes/service.py", "", id="wing unlisted room"),
        pytest.param(ROOMS, "aliases/store.py", "from . import service", id="store knows its door"),
        pytest.param(ROOMS, "mail/store/sent.py", "from .. import jobs", id="a file of a store knows jobs"),
        pytest.param(ROOMS, "aliases/records.py", "from . import errors", id="records know errors"),
        pytest.param(ROOMS, "aliases/service.py", "from . import jobs", id="door knows jobs"),
        pytest.param(ROOMS, "portfolio/team/service.py", "from . import api", id="door knows handlers"),
        pytest.param(ROOMS, "sandbox/plan.py", "from . import jobs", id="door knows jobs by a detour"),
        pytest.param(SCHEMAS, "sandbox/service.py", "from . import schemas", id="door knows the wire"),
        pytest.param(SCHEMAS, "sandbox/plan.py", "from . import schemas", id="topic knows the wire"),
        pytest.param(SCHEMAS, "mail/signing.py", "from .schemas import sent", id="topic knows a file of the wire"),
        pytest.param(SCHEMAS, "sandbox/service.py", "from . import replies", id="door knows the answers"),
        pytest.param(SCHEMAS, "app.py", "from builders.sandbox.replies import x", id="answers leave the room"),
        pytest.param(RINGS, "sandbox/plan.py", "from . import journal", id="ring of topics"),
    ],
)
def test_a_broken_floor_is_said(tmp_path: Path, contract: str, file: str, text: str) -> None:
    build(tmp_path, SMALL | {file: text})
    code, said = lint_imports(tmp_path)
    assert code == 1
    broken = [line for line in said.splitlines() if line.endswith("BROKEN")]
    assert len(broken) == 1, said
    assert broken[0].startswith(contract)
