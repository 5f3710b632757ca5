"""Fixtures of the tests of alerts: a database of the module, and those of the packages that have the metrics."""

from pathlib import Path

import pytest

from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from tests.cli.archives import archiving
from tests.deploy.alerts.promtool import Alert
from tests.kit.conftest import empty, jobs_conn, own, own_database, recorder, registers
from tests.portfolio.registrars.conftest import fakes, no_waits, worker
from tests.tracking.conftest import keyring, no_mail_jobs, send_message, sent
from tests.webhooks.engine.harness import Harness

__all__ = [
    "archiving",
    "empty",
    "fakes",
    "jobs_conn",
    "keyring",
    "no_mail_jobs",
    "no_waits",
    "own",
    "own_database",
    "recorder",
    "registers",
    "send_message",
    "sent",
    "worker",
]


@pytest.fixture
def alert(request: pytest.FixtureRequest, tmp_path: Path) -> Alert:
    """Return the alert that the test makes."""
    return Alert(name=request.param, folder=tmp_path)


@pytest.fixture
async def harness(own_database: Database, own: Settings) -> Harness:
    """Return a sender on the module's database, which is emptied."""
    harness = Harness(database=own_database, settings=own)
    await harness.empty()
    return harness
