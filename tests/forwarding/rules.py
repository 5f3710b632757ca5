"""Rules of names, and what arrives for them."""

from datetime import timedelta
from uuid import UUID

import httpx

from builders.app import Service
from builders.forwarding import contents, messages, receptions
from builders.forwarding.contents import Arrival
from builders.forwarding.filter_addresses import address_of_events
from builders.kit.db.connections import Conn
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from tests.aliases.make import ALIASES, Json
from tests.cast import Client, Person
from tests.forwarding.heads import message
from tests.forwarding.lmtp import OWN, HandOver

ADA = "ada@author.example"
PROVED = "spf=pass dkim=pass dmarc=pass author=author.example aligned=pass domains=author.example"
WHOLE = {"Accept": "message/rfc822"}


async def mint(person: Person) -> Json:
    """Mint a live key."""
    body = {"label": "reader", "preset": "developer_full", "key_kind": "live"}
    answer = await person.post("/v1/api-keys", json=body)
    assert answer.status_code == 200, answer.text
    minted: Json = answer.json()
    return minted


async def put_rule(person: Person, name: Json, webhook: Json, key: Json, **more: object) -> httpx.Response:
    """Set the rule as a person does, in a fresh session."""
    body = {"webhook_id": webhook["id"], "key_id": key["id"], **more}
    async with person.browser() as browser:
        return await browser.put(path_of(name), json=body)


def path_of(name: Json) -> str:
    return f"{ALIASES}/{name['id']}/receive-as-event"


def inside(person: Person, name: Json) -> str:
    """Return the address by which the mail to a name is handed over."""
    return address_of_events(person.account.id, UUID(name["id"]))


async def list_payloads(conn: Conn, person: Person) -> list[tuple[UUID, str]]:
    """Return the destination and the payload of each delivery of received mail."""
    cursor = await conn.execute(
        """
        SELECT delivery.destination_id, payload.body
        FROM webhooks_deliveries AS delivery JOIN webhooks_payloads AS payload USING (account_id, event_id)
        WHERE account_id = %s AND delivery.event = 'alias.mail_received' ORDER BY delivery.id
        """,
        (person.account.id,),
    )
    return await cursor.fetchall()


async def list_stored(conn: Conn, person: Person) -> list[UUID]:
    """Return the ids of the stored messages, oldest first."""
    cursor = await conn.execute(
        "SELECT id FROM forwarding_messages WHERE account_id = %s ORDER BY id", (person.account.id,)
    )
    return [found for (found,) in await cursor.fetchall()]


def reading(service: Service, key: Json) -> Client:
    """Return a client with a key."""
    return Client(service, key=key["secret"])


async def arrive(
    hand_over: HandOver, person: Person, name: Json, conn: Conn, body: str = "Good morning.\r\n", **headers: str
) -> str:
    """Let a message of Ada arrive, which SPF, DKIM and DMARC prove; return its path."""
    before = await list_stored(conn, person)
    written = {
        "From": f"Ada <{ADA}>",
        "To": name["address"],
        "Subject": "A question",
        "Message-ID": "<1@author.example>",
    }
    head = {
        **written,
        messages.RESULTS: PROVED,
        **{key.replace("_", "-"): value for key, value in headers.items()},
    }
    assert (await hand_over(message(body, **head), inside(person, name)))[0] == 250
    (found,) = set(await list_stored(conn, person)) - set(before)
    return f"{ALIASES}/{name['id']}/mail/{found}"


def parse(
    body: str = "Your code is 482913.\r\n", results: str = PROVED, has_sender: bool = True, **headers: str
) -> Arrival | None:
    """Return a message of Ada as it arrives."""
    written = {"From": f"Ada <{ADA}>", messages.RESULTS: results} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return contents.parse(messages.read(message(body, **written)), has_sender=has_sender, own=OWN)


async def receive(person: Person, alias_id: str, body: str = "Good morning.\r\n", **headers: str) -> str:
    """Let a message of Ada arrive without a mail server; return its id."""
    state = person.service.api.state
    written = {"From": f"Ada <{ADA}>", "Subject": "A question", messages.RESULTS: PROVED, **headers}
    arrival = contents.parse(messages.read(message(body, **written)), has_sender=True, own=OWN)
    assert arrival is not None
    async with state.database.transaction() as conn:
        before = await list_stored(conn, person)
        await receptions.receive(
            conn, keyring=state.keyring, account_id=person.account.id, alias_id=UUID(alias_id), arrival=arrival
        )
        (found,) = set(await list_stored(conn, person)) - set(before)
    return str(found)


async def set_age(conn: Conn, person: Person, age: timedelta) -> None:
    await conn.execute(
        "UPDATE identity_accounts SET created_at = %s WHERE id = %s", (clock.now() - age, person.account.id)
    )


async def fill(
    conn: Conn, person: Person, count: int, *, message_id: UUID | None = None, keyring: Keyring | None = None
) -> None:
    """Let there be answers of today: to a message, to Ada if there is a keyring, else to others."""
    digest = b"" if keyring is None else keyring.hash_token("forwarding/answered", ADA)
    await conn.execute(
        """
        INSERT INTO forwarding_answers
        SELECT %s, gen_random_uuid(), gen_random_uuid(), coalesce(%s, gen_random_uuid()), gen_random_uuid(),
               gen_random_uuid()::text::bytea, %s, %s, NULL, 'sent', 1, '250', NULL, now(), now()
        FROM generate_series(1, %s)
        """,
        (person.account.id, message_id, digest, clock.now().date(), count),
    )
