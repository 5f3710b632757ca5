"""Create API keys through the API, and accounts that need a person."""

from typing import Any

from builders.identity import people
from builders.kit.db.connections import Database
from tests.cast import Client, Person

PATH = "/v1/api-keys"
WANTED = {"label": "ci", "key_kind": "live", "preset": "developer_full"}

Json = dict[str, Any]


async def mint(client: Client, **changes: object) -> Json:
    """Create a key; return the reply with the secret."""
    answer = await client.post(PATH, json=WANTED | changes)
    assert answer.status_code == 200, answer.text
    key: Json = answer.json()
    return key


async def status(client: Client, secret: str) -> int:
    """Return the status of a request with this key only."""
    return (await client.get(PATH, headers={"X-API-Key": secret})).status_code


async def need_person(database: Database, person: Person) -> None:
    """Do what an approval policy other than `never` does to the account."""
    async with database.transaction() as conn:
        await people.set_needed(conn, account_id=person.account.id, needed=True)
