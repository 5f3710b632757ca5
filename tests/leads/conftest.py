from collections.abc import AsyncIterator

import pytest

from builders.app import Service
from builders.kit.db.connections import Conn, Database
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from tests.leads.make import Desk
from tests.mail.conftest import with_server
from tests.mail.smtp_server import MailServer


@pytest.fixture
async def desk(database: Database, settings: Settings, conn: Conn) -> AsyncIterator[Desk]:
    """Does the work, and has the mail; what other tests left to be sent is not sent here."""
    await conn.execute("DELETE FROM procrastinate_jobs WHERE task_name ~ '^(mail|leads)' AND status = 'todo'")
    async with MailServer() as server:
        yield Desk(database, with_server(settings, server.url()), server)


@pytest.fixture
def email() -> str:
    """An address that nobody has left so far."""
    return f"ada-{ids.new().hex}@example.net"


@pytest.fixture
def other() -> str:
    """Another one, of the same length and the same look when masked."""
    return f"ada-{ids.new().hex}@example.net"


@pytest.fixture
def keyring(service: Service) -> Keyring:
    """The service's own keyring."""
    ring: Keyring = service.api.state.keyring
    return ring
