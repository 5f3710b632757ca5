"""API keys of the tests, made as a caller makes them."""

from typing import Any

from tests.cast import Client

PATH = "/v1/api-keys"
WANTED = {"label": "ci", "key_kind": "live", "preset": "developer_full"}

Json = dict[str, Any]


async def mint(client: Client, **changes: object) -> Json:
    """A new key as the answer shows it, secret too."""
    answer = await client.post(PATH, json=WANTED | changes)
    assert answer.status_code == 200, answer.text
    key: Json = answer.json()
    return key


async def status(client: Client, secret: str) -> int:
    """How a request with this key, and no other credential, is answered."""
    return (await client.get(PATH, headers={"X-API-Key": secret})).status_code
