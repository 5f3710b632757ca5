"""The people of the tests: accounts, keys, and clients that validate responses against the OpenAPI document."""

import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx

from builders.app import Service
from builders.identity import accounts, keys, sessions
from builders.identity.records import MAIL_CODE, Account, KeyKind, NewSession, Preset, SessionKind, SignIn
from builders.kit.db.connections import Database
from builders.kit.http.callers import COOKIE, OPERATOR, Impersonation
from builders.kit.values import clock
from tests.published import published


class Client(httpx.AsyncClient):
    """A client with one credential or none, which validates each response against the document."""

    def __init__(
        self, service: Service, key: str | None = None, *, token: str | None = None, cookie: str | None = None
    ) -> None:
        validator = published()

        async def check(response: httpx.Response) -> None:
            await response.aread()
            validator.check(response)

        super().__init__(
            transport=httpx.ASGITransport(app=service),
            base_url="http://builders.test",
            headers=_headers(key, token, cookie),
            event_hooks={"response": [check]},
        )
        self.key = key or ""


def _headers(key: str | None, token: str | None, cookie: str | None) -> dict[str, str]:
    offered = {
        "X-API-Key": key,
        "Authorization": token and f"Bearer {token}",
        "Cookie": cookie and f"{COOKIE}={cookie}",
    }
    return {name: value for name, value in offered.items() if value}


@contextmanager
def replaced(service: Service, **attributes: Any) -> Iterator[None]:
    """Replace attributes of the application's state; pytest's monkeypatch would delete them afterwards."""
    state = service.api.state
    before = {name: state[name] for name in attributes}
    for name, value in attributes.items():
        state[name] = value
    try:
        yield
    finally:
        for name, value in before.items():
            state[name] = value


class Person(Client):
    """A person with an account and a live key; `test` is a client with a test key of the account."""

    def __init__(self, service: Service, *, account: Account, live: str, test: str) -> None:
        super().__init__(service, live)
        self.service = service
        self.account = account
        self.test = Client(service, test)

    async def sign_in(
        self, *, kind: SessionKind = SessionKind.LOGIN, impersonation: Impersonation | None = None, **options: Any
    ) -> NewSession:
        """Open a session of the account; a Client takes its token as `token` or as `cookie`."""
        state = self.service.api.state
        if kind is SessionKind.LOGIN:
            options = {"sign_in": SignIn(by=MAIL_CODE, at=clock.now())} | options
        async with state.database.transaction() as conn:
            return await sessions.open_session(
                conn,
                keyring=state.keyring,
                settings=state.settings,
                account_id=self.account.id,
                kind=kind,
                impersonation=impersonation,
                **options,
            )

    @asynccontextmanager
    async def browser(self, **options: Any) -> AsyncIterator[Client]:
        """Return a client that presents a new session as the cookie, from our own pages."""
        new = await self.sign_in(**options)
        async with Client(self.service, cookie=new.token) as client:
            client.headers["Sec-Fetch-Site"] = "same-origin"
            yield client

    async def admit_support(self, *, may_write: bool = False) -> NewSession:
        """Open a support session of the account."""
        grant = Impersonation(
            grant_id=uuid.uuid4(), operator="sam@vendor.example", reason="a ticket", may_write=may_write
        )
        return await self.sign_in(kind=SessionKind.LOGIN_AS, impersonation=grant)

    async def __aexit__(self, *exc: object) -> None:
        """Close both clients."""
        await self.test.aclose()
        await super().aclose()


WITHOUT_NOTICES = """
    DELETE FROM procrastinate_jobs
    WHERE task_name = 'identity.mail_new_key' AND args ->> 'account_id' = %(account_id)s
"""


async def make_person(service: Service, *, name: str, preset: Preset, verified: bool = True) -> Person:
    """Create an account with a live and a test key."""
    database: Database = service.api.state.database
    async with database.transaction() as conn:
        email = f"{name}-{uuid.uuid4().hex[:10]}@example.net"
        account = await accounts.create_account(conn, email=email, name=name.title(), verified=verified)
        live, test = [
            await keys.create_key(
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
        # A test counts the mail that it causes; the notices of these two keys are none of it.
        await conn.execute(WITHOUT_NOTICES, {"account_id": str(account.id)})
    return Person(service, account=account, live=live.secret, test=test.secret)
