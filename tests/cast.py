"""The people of the tests: accounts, keys, and clients that validate responses against the OpenAPI document."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx

from builders.app import Service
from builders.identity import accounts, keys, sessions
from builders.identity.records import MAIL_CODE, Account, KeyKind, NewSession, Preset, SessionKind, SignIn
from builders.kit.callers import OPERATOR, Impersonation
from builders.kit.db.connections import Conn, Database
from builders.kit.http.callers import COOKIE
from builders.kit.values import clock
from tests.published import published

# The `Accept` of link scanners and of browsers, none of which lets a mailed link have an effect.
OF_LINK_OPENERS = [
    "*/*",
    "",
    "application/*",
    "text/html",
    "image/avif,image/webp,*/*;q=0.8",
    "application/json;q=0,*/*",
    "text/html,application/json",
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
]


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
        "Accept": "application/json",  # a program: what opens a mailed link with any type gets a page
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


class TestKeyClient(Client):
    """A client that creates its test key before its first request: most tests send none."""

    __test__ = False  # not a class of tests

    def __init__(self, service: Service, *, create: Callable[[], Awaitable[str]]) -> None:
        super().__init__(service)
        self._create = create
        self._creating = asyncio.Lock()

    async def create_key(self) -> str:
        """Create the key, unless it exists. Return it."""
        async with self._creating:
            if not self.key:
                self.key = await self._create()
                self.headers["X-API-Key"] = self.key
        return self.key

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send a request with the key."""
        request.headers.setdefault("X-API-Key", await self.create_key())
        return await super().send(request, **options)


class Person(Client):
    """A person with an account and a live key; `test` is a client with a test key of the account."""

    def __init__(self, service: Service, *, account: Account, name: str, preset: Preset, live: str) -> None:
        super().__init__(service, live)
        self.service = service
        self.account = account
        self._name, self._preset = name, preset
        self.test = TestKeyClient(service, create=self._create_test_key)

    async def _create_test_key(self) -> str:
        async with self.service.api.state.database.transaction() as conn:
            return await _create_key(
                conn, account=self.account, name=self._name, preset=self._preset, kind=KeyKind.TEST
            )

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


async def make_person(service: Service, *, name: str, preset: Preset, verified: bool = True) -> Person:
    """Create an account with a live key."""
    database: Database = service.api.state.database
    async with database.transaction() as conn:
        email = f"{name}-{uuid.uuid4().hex[:10]}@example.net"
        account = await accounts.create_account(conn, email=email, name=name.title(), verified=verified)
        live = await _create_key(conn, account=account, name=name, preset=preset, kind=KeyKind.LIVE)
    return Person(service, account=account, name=name, preset=preset, live=live)


async def _create_key(conn: Conn, *, account: Account, name: str, preset: Preset, kind: KeyKind) -> str:
    new = await keys.create_key(
        conn,
        account_id=account.id,
        label=f"{name} {kind}",
        key_kind=kind,
        preset=preset,
        minted_by=KeyKind.LIVE,
        actor=OPERATOR,
        is_mailed=False,  # a test counts the mail that it causes; the notice of this key is none of it
    )
    return new.secret
