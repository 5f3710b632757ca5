"""Resealing signing secrets under a new secret key."""

from datetime import timedelta
from uuid import UUID

import pytest
from standardwebhooks.webhooks import Webhook

from builders.app import Service
from builders.kit.db.connections import Conn, Database
from builders.kit.process import secret_keys
from builders.kit.process.secret_keys import Keyring, generate_secret
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.webhooks import signatures
from builders.webhooks.store import destinations as store
from tests.cast import Person
from tests.kit.outbound.receivers import Receiver
from tests.webhooks.make import PATH, Json, create, happen, send_due


@pytest.fixture
def old() -> str:
    """A previous secret key, for this test alone."""
    return generate_secret()


@pytest.fixture
def keyring(service: Service) -> Keyring:
    """The secret key of the service."""
    ring: Keyring = service.api.state.keyring
    return ring


@pytest.fixture
def rotated(keyring: Keyring, settings: Settings, old: str) -> Keyring:
    """The service's keyring with the old secret key in second place."""
    del keyring  # by which the file is made
    (now,) = secret_keys.load_or_create(settings.data_dir / "secret_keys")
    return Keyring([now, old])


async def rotate(person: Person, made: Json, *, overlap_hours: int) -> Json:
    answer = await person.post(f"{PATH}/{made['id']}/rotate-secret", json={"overlap_hours": overlap_hours})
    assert answer.status_code == 200, answer.text
    new: Json = answer.json()
    return new


async def age(conn: Conn, old: str, person: Person, made: Json, keyring: Keyring, *columns: str) -> None:
    """Seal the destination's secrets with the old secret key."""
    ids = {"account_id": person.account.id, "destination_id": UUID(made["id"])}
    for column in columns:
        query = f"SELECT {column} FROM webhooks_destinations WHERE id = %s"  # noqa: S608 - `column` is a literal of the test
        (sealed,) = await (await conn.execute(query, [made["id"]])).fetchone() or ()
        text = signatures.unseal_secret(keyring, sealed, **ids)
        update = f"UPDATE webhooks_destinations SET {column} = %s WHERE id = %s"  # noqa: S608 - `column` is a literal of the test
        await conn.execute(update, [signatures.seal_secret(Keyring([old]), text, **ids), made["id"]])


async def kept(conn: Conn, keyring: Keyring, person: Person, made: Json) -> list[str | None]:
    """Return the current and previous secret, unsealed with the service's keyring."""
    query = "SELECT secret, old_secret FROM webhooks_destinations WHERE id = %s"
    found = await (await conn.execute(query, [made["id"]])).fetchone() or ()
    ids = {"account_id": person.account.id, "destination_id": UUID(made["id"])}
    return [None if each is None else signatures.unseal_secret(keyring, each, **ids) for each in found]


async def test_after_resealing_the_old_secret_key_is_not_needed(
    alice: Person, service: Service, receiver: Receiver, conn: Conn, keyring: Keyring, rotated: Keyring, old: str
) -> None:
    database: Database = service.api.state.database
    made = await create(alice, url=receiver.url)
    await age(conn, old, alice, made, keyring, "secret")
    assert (await signatures.reseal_secrets(database, keyring=rotated)).renewed == 1

    await happen(database, alice.account.id)
    assert await send_due(service, account_id=alice.account.id) == 1
    Webhook(made["signing_secret"]).verify(receiver.body.decode(), dict(receiver.head))


@pytest.mark.parametrize("batch_size", [1, 2, 200])
async def test_current_and_previous_secrets_are_resealed(
    alice: Person,
    bob: Person,
    database: Database,
    conn: Conn,
    keyring: Keyring,
    rotated: Keyring,
    old: str,
    batch_size: int,
) -> None:
    both, over, bobs = await create(alice), await create(alice), await create(bob)
    new = {each["id"]: await rotate(alice, each, overlap_hours=hours) for each, hours in ((both, 9), (over, 1))}
    await age(conn, old, alice, both, keyring, "secret", "old_secret")
    await age(conn, old, alice, over, keyring, "secret", "old_secret")
    await age(conn, old, bob, bobs, keyring, "secret")
    clock.move(timedelta(hours=2))

    assert (await signatures.reseal_secrets(database, keyring=rotated, batch_size=batch_size)).renewed == 4
    expected = [new[both["id"]]["signing_secret"], both["signing_secret"]]
    assert await kept(conn, keyring, alice, both) == expected
    assert await kept(conn, keyring, bob, bobs) == [bobs["signing_secret"], None]
    assert (await kept(conn, rotated, alice, over))[0] == new[over["id"]]["signing_secret"]
    assert (await signatures.reseal_secrets(database, keyring=rotated)).renewed == 0


async def test_resealing_changes_nothing_that_the_owner_sees(
    alice: Person, database: Database, conn: Conn, keyring: Keyring, rotated: Keyring, old: str
) -> None:
    made = await create(alice)
    await age(conn, old, alice, made, keyring, "secret")
    before = await alice.get(f"{PATH}/{made['id']}")
    await signatures.reseal_secrets(database, keyring=rotated)
    after = await alice.get(f"{PATH}/{made['id']}")
    assert (after.json(), after.headers["etag"]) == (before.json(), before.headers["etag"])


async def test_a_secret_that_cannot_be_unsealed_is_left_and_counted(
    alice: Person, database: Database, conn: Conn, keyring: Keyring, rotated: Keyring, old: str
) -> None:
    made = await create(alice)
    await age(conn, old, alice, made, keyring, "secret")
    done = await signatures.reseal_secrets(database, keyring=keyring)
    assert (done.renewed, done.lost >= 1) == (0, True)
    assert await kept(conn, rotated, alice, made) == [made["signing_secret"], None]


@pytest.mark.parametrize(
    ("overlap_hours", "has_previous", "renewed"),
    [
        pytest.param(0, False, 0, id="without overlap"),
        pytest.param(1, True, 1, id="the previous secret is still valid"),
    ],
)
async def test_a_concurrent_rotation_is_kept(
    alice: Person,
    database: Database,
    conn: Conn,
    keyring: Keyring,
    rotated: Keyring,
    old: str,
    overlap_hours: int,
    renewed: int,
    monkeypatch: pytest.MonkeyPatch,
    *,
    has_previous: bool,
) -> None:
    made = await create(alice)
    await age(conn, old, alice, made, keyring, "secret")
    new: list[Json] = []
    listing = store.list_stale

    async def list_then_rotate(*given: object, **named: object) -> object:
        found = await listing(*given, **named)  # type: ignore[arg-type] # as they came
        if not new:
            new.append(await rotate(alice, made, overlap_hours=overlap_hours))
        return found

    monkeypatch.setattr(store, "list_stale", list_then_rotate)
    done = await signatures.reseal_secrets(database, keyring=rotated)
    before = made["signing_secret"] if has_previous else None
    assert await kept(conn, keyring, alice, made) == [new[0]["signing_secret"], before]
    assert done.renewed == renewed
