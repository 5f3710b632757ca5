"""Opt-outs outlive the secret key that hashed and sealed them."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from builders.kit.db.connections import Database
from builders.kit.process import secret_keys
from builders.kit.process.secret_keys import Keyring, generate_secret
from builders.kit.process.settings import Settings
from builders.mail import optouts, service as mail
from builders.mail.records import Topic
from tests.cast import Person

TOPICS = [Topic.NEWS, Topic.RENEWALS, Topic.WEBHOOKS]
Out = Callable[[Keyring], Awaitable[set[Topic]]]


@pytest.fixture
def old() -> str:
    """A secret key of before."""
    return generate_secret()


@pytest.fixture
def rotated(keyring: Keyring, settings: Settings, old: str) -> Keyring:
    """The service's keyring, behind whose first secret the old one still is."""
    del keyring  # by which the file is made
    (now,) = secret_keys.load_or_create(settings.data_dir / "secret_keys")
    return Keyring([now, old])


@pytest.fixture(autouse=True)
async def _wants_no_mail(database: Database, alice: Person, old: str) -> None:
    """Alice wants none of three topics, as the old secret keeps it."""
    async with database.transaction() as conn:
        for topic in TOPICS:
            assert await optouts.add(conn, Keyring([old]), address=alice.account.email, topic=topic)


@pytest.fixture
def out(database: Database, alice: Person) -> Out:
    """Of what a keyring knows that Alice wants no more."""

    async def out(ring: Keyring) -> set[Topic]:
        async with database.connection() as conn:
            return {
                topic
                for topic in TOPICS
                if await optouts.is_out(conn, ring, address=alice.account.email, topic=topic)
            }

    return out


@pytest.mark.parametrize("at_once", [1, 2, 500])
async def test_after_it_the_first_secret_alone_knows_who_wants_no_mail(
    database: Database, keyring: Keyring, rotated: Keyring, out: Out, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optouts, "REHASHED_AT_ONCE", at_once)
    assert await out(keyring) == set()
    done = await mail.rehash_optouts(database, keyring=rotated)

    assert done.renewed == len(TOPICS)
    assert await out(keyring) == set(TOPICS)
    assert (await mail.rehash_optouts(database, keyring=rotated)).renewed == 0
    assert await out(keyring) == set(TOPICS)


async def test_without_the_secret_of_before_it_is_counted_as_lost(
    database: Database, keyring: Keyring, out: Out, rotated: Keyring
) -> None:
    done = await mail.rehash_optouts(database, keyring=keyring)
    assert (done.renewed, done.lost >= len(TOPICS)) == (0, True)
    assert await out(rotated) == set(TOPICS)


async def test_what_the_address_wants_again_meanwhile_is_not_ended_again(
    database: Database, rotated: Keyring, out: Out, alice: Person
) -> None:
    held, begun = asyncio.Event(), asyncio.Event()

    async def want_again() -> None:
        async with database.transaction() as other:
            await mail.subscribe(other, keyring=rotated, address=alice.account.email, topic=Topic.NEWS)
            begun.set()
            await held.wait()

    wanting = asyncio.create_task(want_again())
    await begun.wait()
    rehashing = asyncio.create_task(mail.rehash_optouts(database, keyring=rotated))
    held.set()
    await asyncio.gather(wanting, rehashing)
    assert await out(rotated) == {Topic.RENEWALS, Topic.WEBHOOKS}


async def test_what_is_there_under_both_secrets_stays_out(
    database: Database, keyring: Keyring, rotated: Keyring, out: Out, alice: Person
) -> None:
    async with database.transaction() as conn:
        assert await optouts.add(conn, keyring, address=alice.account.email, topic=Topic.NEWS)
    assert (await mail.rehash_optouts(database, keyring=rotated)).renewed == 2
    assert await out(keyring) == set(TOPICS)
