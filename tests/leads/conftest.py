from collections.abc import AsyncIterator

import pytest

from builders.app import Service
from builders.kit.db.connections import Conn, Database
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from tests.leads.make import Runner
from tests.mail.conftest import with_server
from tests.mail.smtp_server import MailServer


@pytest.fixture
async def runner(database: Database, settings: Settings, conn: Conn) -> AsyncIterator[Runner]:
    """Return the runner of jobs, without the jobs of other tests."""
    await conn.execute("DELETE FROM procrastinate_jobs WHERE task_name ~ '^(mail|leads)' AND status = 'todo'")
    async with MailServer() as server:
        yield Runner(database, with_server(settings, server.url()), server)


@pytest.fixture
def email() -> str:
    """Return an unused address."""
    return f"ada-{ids.new().hex}@example.net"


@pytest.fixture
def other() -> str:
    """Return another address, of the same length and masked form."""
    return f"ada-{ids.new().hex}@example.net"


@pytest.fixture
def keyring(service: Service) -> Keyring:
    """Return the keyring of the service."""
    ring: Keyring = service.api.state.keyring
    return ring
