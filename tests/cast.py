"""People of the tests: an account, its keys, and clients that hold every answer against the OpenAPI document."""

import uuid

import httpx

from builders.app import Service
from builders.identity import service as identity
from builders.identity.records import Account, KeyKind, Preset
from builders.kit.callers import OPERATOR
from builders.kit.db import Database
from tests.published import Published


class Client(httpx.AsyncClient):
    """Asks the service as one key, or as nobody; checks each answer against what is published."""

    def __init__(self, service: Service, key: str | None = None) -> None:
        published = Published.of(service)

        async def check(response: httpx.Response) -> None:
            await response.aread()
            published.check(response)

        super().__init__(
            transport=httpx.ASGITransport(app=service),
            base_url="http://builders.test",
            headers={"X-API-Key": key} if key else {},
            event_hooks={"response": [check]},
        )
        self.key = key or ""


class Person(Client):
    """Somebody with an account and a live key; `test` asks with a test key of the same account."""

    def __init__(self, service: Service, *, account: Account, live: str, test: str) -> None:
        super().__init__(service, live)
        self.account = account
        self.test = Client(service, test)

    async def __aexit__(self, *exc: object) -> None:
        """Leaves with both clients."""
        await self.test.aclose()
        await super().aclose()


async def make_person(service: Service, *, name: str, preset: Preset, verified: bool = True) -> Person:
    """A fresh account with a live and a test key, made through the door."""
    database: Database = service.api.state.database
    async with database.transaction() as conn:
        email = f"{name}-{uuid.uuid4().hex[:10]}@example.net"
        account = await identity.create_account(conn, email=email, name=name.title(), verified=verified)
        live, test = [
            await identity.create_key(
                conn,
                account_id=account.id,
                label=f"{name} {kind}",
                kind=kind,
                preset=preset,
                minted_by=KeyKind.LIVE,
                actor=OPERATOR,
            )
            for kind in (KeyKind.LIVE, KeyKind.TEST)
        ]
    return Person(service, account=account, live=live.secret, test=test.secret)
