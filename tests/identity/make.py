"""Create API keys through the API."""

from typing import Any

from tests.cast import Client

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
