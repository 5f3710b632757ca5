"""Fixtures of the tests of forwarding: the look-up server, with its role, on a Unix socket."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from builders.app import Service
from builders.domains import dkim_keys
from builders.forwarding import role
from builders.forwarding.mail_filter import MailFilter
from builders.forwarding.recipients import Recipients
from builders.forwarding.server import LookupServer
from builders.kit.db.connections import Database
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from tests.aliases.make import AliasWorker, Json, Owner, fresh
from tests.cast import Person
from tests.domains.nameserver import Nameserver, serving as serving_names
from tests.forwarding.lmtp import HOST, OWN, HandOver, Queue, filtering
from tests.forwarding.postfix import MailServer
from tests.forwarding.rules import mint, put_rule
from tests.plans.make import Domains, alias, apply, get_alias
from tests.webhooks.make import create

OPERATOR = "operator@vendor.example"


@pytest.fixture(scope="session")
async def recipients(service: Service, settings: Settings, conninfo: str) -> AsyncIterator[Recipients]:
    """Look addresses up in the role of the look-up server."""
    async with service.api.state.database.transaction() as conn:
        await role.grant(conn)
    database = Database(conninfo, settings, role=role.NAME)
    await database.open()
    yield Recipients(database, operator=OPERATOR)
    await database.close()


@asynccontextmanager
async def serving(recipients: Recipients, path: Path, **options: float) -> AsyncIterator[MailServer]:
    """Run the look-up server on a Unix socket; yield a mail server that asks it."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(512)
        task = asyncio.create_task(LookupServer(recipients, **options).run(listener))
        async with MailServer(path) as asking:
            yield asking
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.fixture
async def lookups(recipients: Recipients, tmp_path: Path) -> AsyncIterator[MailServer]:
    """Return a mail server that asks the look-up server."""
    async with serving(recipients, tmp_path / "lookup", idle_s=60) as asking:  # a test can pause under load
        yield asking


@pytest.fixture
def domains(database: Database, tmp_path: Path, assets: Path) -> Domains:
    """Return a loader of catalog domains."""
    return Domains(database, folder=tmp_path, assets=assets)


@pytest.fixture
async def shared(domains: Domains) -> str:
    """Return a live domain of the catalog."""
    return await domains()


@pytest.fixture
def worker(database: Database, settings: Settings) -> AliasWorker:
    """Return the worker and the mailbox of the test."""
    return AliasWorker(database, settings)


@pytest.fixture
def domain() -> str:
    """Return a domain that only this test uses."""
    return fresh()


@pytest.fixture
def owner(database: Database, alice: Person) -> Owner:
    """Return Alice as an owner of names."""
    return Owner.of(database, alice)


@pytest.fixture
def queue() -> Queue:
    """Return what the mail server has in its queue."""
    return Queue()


@pytest.fixture
def keyring(service: Service) -> Keyring:
    """Return the secret keys of the service."""
    found: Keyring = service.api.state.keyring
    return found


@pytest.fixture
async def hand_over(queue: Queue, database: Database, keyring: Keyring) -> AsyncIterator[HandOver]:
    """Run the filter and the mail server's listener."""
    back = await asyncio.get_running_loop().create_server(queue.protocol, "127.0.0.1", 0)
    returns_to = back.sockets[0].getsockname()
    mail_filter = MailFilter(database, keyring, host=HOST, own=OWN, returns_to=returns_to)
    async with filtering(mail_filter) as found:
        yield found
    back.close()


@pytest.fixture
async def name(alice: Person, shared: str) -> Json:
    """Return a name of Alice."""
    return await get_alias(alice, await apply(alice, alias(f"inbox@{shared}", alice.account.email)))


@pytest.fixture
async def webhook(alice: Person) -> Json:
    """Return a webhook that subscribes to other events."""
    return await create(alice, events=["invoice.created"])


@pytest.fixture
async def key(alice: Person) -> Json:
    """Return a key of a program."""
    return await mint(alice)


@pytest.fixture
async def rule(alice: Person, name: Json, webhook: Json, key: Json) -> Json:
    """Let the webhook and the key receive the mail to the name."""
    answer = await put_rule(alice, name, webhook, key)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


@pytest.fixture
async def signing(database: Database, keyring: Keyring, settings: Settings, shared: str) -> Nameserver:
    """Return the name server, which has the record of the domain's key."""
    async with database.transaction() as conn:
        await dkim_keys.make(conn, keyring=keyring, domains=[shared])
        (key,) = await dkim_keys.list_keys(conn, domains=[shared])
    async with serving_names() as server:
        server.txt(key.name, key.value)
        await dkim_keys.check_due(
            database, settings=settings.model_copy(update={"dns_resolvers": (server.address,)})
        )
        return server
