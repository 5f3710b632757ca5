"""Fake registrars: their accounts and faults, their base class, and their server."""

import asyncio
import socket
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from threading import Thread
from typing import ClassVar, Self, TypeVar

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

HOST = "127.0.0.1"
T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class FakeDomain:
    """A domain at a fake registrar."""

    domain: str  # A-label
    expires_at: datetime | None
    created_at: datetime
    auto_renew: bool = True
    locked: bool = True
    privacy: bool = True
    state: str = "active"  # active, expired, redemption, leaving (Gandi); each fake uses the registrar's words.
    # Of GoDaddy also a word of its own.
    nameservers: Sequence[str] = ("ns1.example.net", "ns2.example.net")
    renewal_price: Decimal = Decimal("10.98")
    auth_code: str = "Fake-Auth-Code-1"


@dataclass(slots=True, kw_only=True)
class FakeLine:
    """A line of an order; several domains can share one."""

    domains: Sequence[str]  # as the registrar writes them; none: only the text may name one
    operation: str  # registration, renewal, transfer, redemption, privacy, other
    total: Decimal  # tax and fees included; negative in a refund
    years: int | None = 1
    tax: Decimal = Decimal(0)
    fees: Decimal = Decimal(0)
    text: str | None = None  # in place of the registrar's own description


@dataclass(slots=True, kw_only=True)
class FakePurchase:
    """An order at a fake registrar."""

    order_id: str
    charged_on: date
    lines: Sequence[FakeLine]
    currency: str = "USD"
    parent_order_id: str | None = None  # of a refund


@dataclass(slots=True, kw_only=True)
class FakeTransfer:
    """A transfer at a fake registrar."""

    domain: str
    direction: str  # in, out
    state: str  # pending, completed, failed, cancelled
    started_at: datetime


class Fault(StrEnum):
    """A response that a fake returns instead of the correct one."""

    BAD_KEY = "bad_key"
    RESTRICTED = "restricted"
    IP_NOT_ALLOWED = "ip_not_allowed"
    RATE_LIMITED = "rate_limited"  # with a time to wait
    RATE_LIMITED_SILENTLY = "rate_limited_silently"  # without
    SERVER_ERROR = "server_error"
    REFUSED = "refused"  # an error inside HTTP 200 where the registrar does so
    MALFORMED = "malformed"  # half a body
    ODD = "odd"  # a response of success without its content
    HANG = "hang"  # no response


WAIT_S = 3600  # the waiting time of a rate-limited response


@dataclass(slots=True)
class FakeAccount:
    """A customer's account at a fake registrar."""

    domains: list[FakeDomain] = field(default_factory=list)
    orders: list[FakePurchase] = field(default_factory=list)
    transfers: list[FakeTransfer] = field(default_factory=list)
    faults: deque[Fault | None] = field(default_factory=deque)  # for each of the next requests; None: no fault
    requests: int = 0
    most_rows: int | None = None  # of a page, whatever the request asks for
    is_truncated: bool = False  # the first page lacks its last row


class FakeRegistrar(ABC):
    """A registrar's API with one customer."""

    provider: ClassVar[str]
    credentials: ClassVar[dict[str, str]]  # that it accepts
    path: ClassVar[str] = ""  # of the base URL
    page_size: ClassVar[int]
    faults: ClassVar[frozenset[Fault]] = frozenset(Fault)  # the failures that the registrar can return
    transfer_states: ClassVar[frozenset[str]] = frozenset({"pending", "completed", "failed", "cancelled"})

    def __init__(self, account: FakeAccount) -> None:
        self.account = account

    @abstractmethod
    def routes(self) -> Sequence[Route]:
        """Return the routes of the API, below `path`."""

    @abstractmethod
    async def is_allowed(self, request: Request) -> bool:
        """Return whether the request carries the customer's credentials."""

    @abstractmethod
    def refuse(self, fault: Fault) -> Response:
        """Return the response of a fault in the registrar's own form."""

    def respond_without_content(self) -> Response:
        """Return a response of success that has none of its members."""
        return JSONResponse({})

    def limit(self, asked: int) -> int:
        """Return how many rows a page has when a request asks for a number of them."""
        return min(asked, self.account.most_rows or asked)

    def cut(self, rows: Sequence[T], *, start: int, size: int) -> Sequence[T]:
        """Return a page of rows, truncated where the account says so."""
        end = start + size
        return rows[start : end - 1 if self.account.is_truncated and start == 0 else end]

    def app(self) -> ASGIApp:
        """Return the API as an ASGI application."""
        return Starlette(routes=list(self.routes()), middleware=[Middleware(_Faults, fake=self)])

    def find(self, domain: str) -> FakeDomain | None:
        """Return a domain of the account."""
        return next((each for each in self.account.domains if each.domain == domain.lower()), None)


class _Faults:
    """Returns the next fault of the account, or checks the credentials and forwards the request."""

    def __init__(self, app: ASGIApp, *, fake: FakeRegistrar) -> None:
        self._app = app
        self._fake = fake

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        account = self._fake.account
        account.requests += 1
        # Read once here; the handler below gets the same body again.
        request = Request(scope, receive)
        body = await request.body()
        fault = account.faults.popleft() if account.faults else None
        if fault is None and not await self._fake.is_allowed(request):
            fault = Fault.BAD_KEY
        if fault is None:
            await self._app(scope, _again(body), send)
            return
        await (await _respond(self._fake, fault))(scope, receive, send)


async def _respond(fake: FakeRegistrar, fault: Fault) -> Response:
    if fault is Fault.HANG:
        await asyncio.Event().wait()
    if fault is Fault.SERVER_ERROR:
        return Response("Internal Server Error", status_code=500)
    if fault is Fault.MALFORMED:
        return Response('{"status": "SUCC', media_type="application/json")
    if fault is Fault.ODD:
        return fake.respond_without_content()
    return fake.refuse(fault)


def _again(body: bytes) -> Receive:
    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


class FakeServer:
    """Serves fakes on the loopback address, in a separate thread; a context manager."""

    def __init__(self, *, port: int = 0) -> None:
        self._port = port
        self._fakes: dict[str, ASGIApp] = {}

    def __enter__(self) -> Self:
        self._listener = socket.create_server((HOST, self._port))
        config = uvicorn.Config(
            self._dispatch,
            log_config=None,
            log_level="warning",
            lifespan="off",
            ws="none",
            interface="asgi3",
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = Thread(target=self._server.run, args=([self._listener],), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()

    @property
    def address(self) -> str:
        """Return host and port, as BUILDERS_OUTBOUND_ALLOW takes them."""
        return f"{HOST}:{self._listener.getsockname()[1]}"

    def add(self, fake: FakeRegistrar) -> str:
        """Serve a fake below the name of its registrar, in place of an earlier one; return its base URL."""
        self._fakes[fake.provider] = fake.app()
        return f"http://{self.address}/{fake.provider}{fake.path}"

    async def _dispatch(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the fake whose name is the first segment of the path."""
        provider = scope["path"].split("/")[1]
        await self._fakes[provider]({**scope, "root_path": f"/{provider}"}, receive, send)
