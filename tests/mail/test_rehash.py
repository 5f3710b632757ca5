"""Opt-outs survive the rotation of the secret key that hashed and sealed them."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from builders.kit.db.connections import Database
from builders.kit.process import secret_keys
from builders.kit.process.secret_keys import Keyring, generate_secret
from builders.kit.process.settings import Settings
from builders.mail import optouts
from builders.mail.records import Topic
from tests.cast import Person

TOPICS = [Topic.NEWSLETTER, Topic.RENEWALS, Topic.WEBHOOKS]
Out = Callable[[Keyring], Awaitable[set[Topic]]]


@pytest.fixture
def old() -> str:
    """Return an old secret key."""
    return generate_secret()


@pytest.fixture
def rotated(keyring: Keyring, settings: Settings, old: str) -> Keyring:
    """Return the service's keyring with the old secret as its second."""
    del keyring  # it creates the file
    (now,) = secret_keys.load_or_create(settings.data_dir / "secret_keys")
    return Keyring([now, old])


@pytest.fixture(autouse=True)
async def _opted_out(database: Database, alice: Person, old: str) -> None:
    """Opt Alice out of three topics by the old secret."""
    async with database.transaction() as conn:
        for topic in TOPICS:
            assert await optouts.add(conn, keyring=Keyring([old]), address=alice.account.email, topic=topic)


@pytest.fixture
def out(database: Database, alice: Person) -> Out:
    """Return a function that lists the topics from which Alice is opted out by a keyring."""

    async def out(ring: Keyring) -> set[Topic]:
        async with database.connection() as conn:
            return {
                topic
                for topic in TOPICS
                if await optouts.is_opted_out(conn, keyring=ring, address=alice.account.email, topic=topic)
            }

    return out


@pytest.mark.parametrize("batch_size", [1, 2, 500])
async def test_the_first_secret_alone_finds_the_opt_outs_afterwards(
    database: Database, keyring: Keyring, rotated: Keyring, out: Out, batch_size: int
) -> None:
    assert await out(keyring) == set()
    done = await optouts.rehash(database, keyring=rotated, batch_size=batch_size)

    assert done.renewed == len(TOPICS)
    assert await out(keyring) == set(TOPICS)
    assert (await optouts.rehash(database, keyring=rotated)).renewed == 0
    assert await out(keyring) == set(TOPICS)


async def test_an_opt_out_without_its_secret_is_counted_as_lost(
    database: Database, keyring: Keyring, out: Out, rotated: Keyring
) -> None:
    done = await optouts.rehash(database, keyring=keyring)
    assert (done.renewed, done.lost >= len(TOPICS)) == (0, True)
    assert await out(rotated) == set(TOPICS)


async def test_a_concurrent_subscription_is_kept(
    database: Database, rotated: Keyring, out: Out, alice: Person
) -> None:
    held, begun = asyncio.Event(), asyncio.Event()

    async def subscribe() -> None:
        async with database.transaction() as other:
            await optouts.subscribe(other, keyring=rotated, address=alice.account.email, topic=Topic.NEWSLETTER)
            begun.set()
            await held.wait()

    subscribing = asyncio.create_task(subscribe())
    await begun.wait()
    rehashing = asyncio.create_task(optouts.rehash(database, keyring=rotated))
    held.set()
    await asyncio.gather(subscribing, rehashing)
    assert await out(rotated) == {Topic.RENEWALS, Topic.WEBHOOKS}


async def test_an_opt_out_under_both_secrets_is_kept(
    database: Database, keyring: Keyring, rotated: Keyring, out: Out, alice: Person
) -> None:
    async with database.transaction() as conn:
        assert await optouts.add(conn, keyring=keyring, address=alice.account.email, topic=Topic.NEWSLETTER)
    assert (await optouts.rehash(database, keyring=rotated)).renewed == 2
    assert await out(keyring) == set(TOPICS)
