"""Requests with tokens of another issuer."""

import uuid
from typing import Any

from builders.identity import identities
from builders.kit.callers import OPERATOR
from builders.kit.db.connections import Database
from tests.cast import Client, Person
from tests.identity.provider import Provider

PATH = "/v1/auth/session"


def bearer(token: str) -> dict[bytes, bytes]:
    """Return the header of a request."""
    return {b"Authorization": f"Bearer {token}".encode("latin-1", "replace")}


async def ask(client: Client, token: str) -> dict[str, Any]:
    """Return the session of a token, or the error."""
    said: dict[str, Any] = (await client.get(PATH, headers=bearer(token))).json()
    return said


def person() -> dict[str, Any]:
    """Return the claims of an unknown person with a verified address."""
    return {"email": f"Eve-{uuid.uuid4().hex[:10]}@Example.NET", "email_verified": True}


async def link(database: Database, account: Person, provider: Provider, subject: str) -> None:
    """Act as the operator does."""
    async with database.transaction() as conn:
        await identities.link_identity(
            conn, account_id=account.account.id, issuer=provider.issuer, subject=subject, actor=OPERATOR
        )
