"""Fake registrars: their accounts and faults, their base class, and their server."""

import asyncio
import socket
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from functools import partial
from math import ceil
from threading import Thread
from typing import Any, ClassVar, Self, TypeVar

import uvicorn
from pydantic_core import from_json
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from builders.kit.values import clock

HOST = "127.0.0.1"
STOP_WITHIN_S = 10
T = TypeVar("T")
Given = Mapping[str, Any]  # the members of the query, of the path and of the body
Handler = Callable[[Given], Any]
Failure = tuple[int, str, str]  # status, code and message
FAILURE_PARTS = 3


@dataclass(slots=True, kw_only=True)
class FakeDomain:
    """A domain at a fake registrar."""

    domain: str  # A-label
    expires_at: datetime | None
    created_at: datetime
    auto_renew: bool = True
    locked: bool = True
    is_change_locked: bool = False  # Namecheap: its data cannot be changed
    is_default: bool = False  # Dynadot: the default of the account decides on renewal
    privacy: bool = True
    # active, expired, redemption, suspended, leaving (Gandi), 460 (OVHcloud: its details are refused); each fake
    # uses the registrar's words. Of GoDaddy also a word of its own.
    state: str = "active"
    nameservers: Sequence[str] = ("ns1.example.net", "ns2.example.net")
    renewal_price: Decimal = Decimal("10.98")
    auth_code: str = "Fake-Auth-Code-1"

    def until(self, member: str) -> dict[str, str]:
        """Return the expiry as an ISO 8601 text, which a registrar leaves out when there is none."""
        return {} if self.expires_at is None else {member: self.expires_at.isoformat()}


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
    EMPTY = "empty"  # no body
    WEB_PAGE = "web_page"  # of a firewall, in place of the API
    # With a code that says nothing: only the text names the reason.
    LIMITED_IN_WORDS = "limited_in_words"
    BAD_KEY_IN_WORDS = "bad_key_in_words"
    ODD = "odd"  # a response of success without its content
    HANG = "hang"  # no response


class Missing(Exception):
    """The account does not hold what a request is for."""


class Refused(Exception):
    """The registrar refuses the request, with a status, a code and a message, or as it refuses any."""

    def __init__(self, *failure: Any) -> None:
        super().__init__(*failure)
        self.failure: Failure | None = failure if len(failure) == FAILURE_PARTS else None


# What only some registrars answer: `failures` of their fakes say how.
_NOT_EVERYWHERE = frozenset(
    {
        *(Fault.BAD_KEY, Fault.RESTRICTED, Fault.IP_NOT_ALLOWED, Fault.REFUSED),
        *(Fault.RATE_LIMITED, Fault.RATE_LIMITED_SILENTLY),
    }
)
WEB_PAGE = "<!DOCTYPE html><html><head><title>Just a moment...</title></head><body></body></html>"
IN_WORDS = {
    Fault.LIMITED_IN_WORDS: "Too many requests, try again later",
    Fault.BAD_KEY_IN_WORDS: "Invalid API key. (002)",
}
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

    provider: ClassVar[str]  # the name of the module
    credentials: ClassVar[dict[str, str]]  # that it accepts
    path: ClassVar[str] = ""  # of the base URL
    page_size: ClassVar[int]
    most_asked: ClassVar[int | None] = None  # rows that a request may ask for; the registrar refuses more
    wait_header: ClassVar[str] = "Retry-After"  # of a rate limit with a waiting time
    waits_until: ClassVar[bool] = False  # the header names the second of the epoch at which the limit ends
    has_refunds: ClassVar[bool] = True  # the bills show refunds
    signs_in: ClassVar[bool] = False  # a request for a session comes first
    reads_before_switch: ClassVar[int] = 0  # requests that find the other settings before auto-renew is set
    currency: ClassVar[str] = "USD"  # of renewal prices
    # A request has these headers, and these members of the query or of the body; they name credentials in braces.
    headers: ClassVar[Mapping[str, str]] = {}
    members: ClassVar[Mapping[str, str]] = {}
    missing: ClassVar[Failure] = (404, "NOT_FOUND", "Not found")  # what the account does not hold
    failures: ClassVar[Mapping[Fault, Failure]]  # of the requests that the registrar refuses
    has_holds: ClassVar[bool] = True  # the list of domains shows that one is suspended
    nothing: ClassVar[Any] = {}  # the content of a response of success that has none of its members
    transfer_states: ClassVar[frozenset[str]] = frozenset({"pending", "completed", "failed", "cancelled"})
    has_pages: ClassVar[bool] = True  # the list of domains has
    shows_gaps: ClassVar[bool] = True  # a total, or a next page behind the last row, shows that a page lacks a row

    def __init_subclass__(cls) -> None:
        """Name the registrar after the module of its fake."""
        super().__init_subclass__()
        if not hasattr(cls, "provider"):
            cls.provider = cls.__module__.rpartition(".")[2]

    def __init__(self, account: FakeAccount) -> None:
        self.account = account

    @classmethod
    def faults(cls) -> frozenset[Fault]:
        """Return the faults that the registrar can have."""
        return frozenset(Fault) - _NOT_EVERYWHERE | frozenset(cls.failures)

    @abstractmethod
    def routes(self) -> Mapping[str, Handler]:
        """Return the operations by method and path, below `path`; each returns the content of its response."""

    def reply(self, content: Any) -> Response:
        """Return a response of success."""
        return JSONResponse(content)

    def fail(self, status: int, code: str, message: str) -> Response:
        """Return an error as the registrar writes it."""
        body = {"code": code, "message": message} if code else {"message": message}
        return JSONResponse(body, status_code=status)

    def is_allowed(self, request: Request, given: Given, body: bytes) -> bool:
        """Return whether the request has the customer's credentials."""
        del body
        sent = [*((request.headers.get(name), text) for name, text in self.headers.items())]
        sent += ((given.get(name), text) for name, text in self.members.items())
        return all(value == text.format_map(self.credentials) for value, text in sent)

    def limit(self, asked: int) -> int:
        """Return how many rows a page has when a request asks for a number of them. Raise Refused."""
        if self.most_asked is not None and asked > self.most_asked:
            raise Refused
        return min(asked, self.account.most_rows or asked)

    def cut(self, rows: Sequence[T], *, start: int, size: int) -> Sequence[T]:
        """Return a page of rows, truncated where the account says so."""
        end = start + size
        return rows[start : end - 1 if self.account.is_truncated and start == 0 else end]

    def page(self, number: int, asked: int) -> Sequence[FakeDomain]:
        """Return a numbered page of the domains."""
        size = self.limit(asked)
        return self.cut(self.account.domains, start=(number - 1) * size, size=size)

    def held(self, domain: str) -> FakeDomain:
        """Return a domain of the account. Raise Missing."""
        return _first(each for each in self.account.domains if each.domain == domain.lower())

    def transfer(self, domain: str) -> FakeTransfer:
        """Return the transfer of a domain. Raise Missing."""
        return _first(each for each in self.account.transfers if each.domain == domain)

    def order(self, number: str) -> FakePurchase:
        """Return an order of the account. Raise Missing."""
        return _first(each for each in self.account.orders if each.order_id == number)

    def app(self) -> ASGIApp:
        """Return the API as an ASGI application."""
        routes = []
        for name, handler in self.routes().items():
            method, _, path = name.partition(" ")
            routes.append(Route(f"{self.path}{path}", partial(self._respond, handler), methods=[method]))
        return Starlette(routes=[*routes, Route("/{path:path}", partial(self._respond, _raise_missing))])

    async def _respond(self, handler: Handler, request: Request) -> Response:
        """Return the next fault of the account, or check the credentials and return the result of the handler."""
        self.account.requests += 1
        body = await request.body()
        given = {**request.query_params, **request.path_params, **(from_json(body) if body else {})}
        fault = self.account.faults.popleft() if self.account.faults else None
        if fault is None and not self.is_allowed(request, given, body):
            fault = Fault.BAD_KEY
        if fault is not None:
            return await self._fail_as(fault)
        try:
            content = handler({**given, "headers": request.headers})
        except Missing:
            failure = self.missing
        except Refused as refused:
            failure = refused.failure or self.failures[Fault.REFUSED]
        else:
            return content if isinstance(content, Response) else self.reply(content)
        return self.fail(*failure)

    async def _fail_as(self, fault: Fault) -> Response:
        if fault is Fault.HANG:
            await asyncio.Event().wait()
        whole = bytes(self.reply(self.nothing).body)
        answers = {
            Fault.SERVER_ERROR: Response("Internal Server Error", status_code=500),
            Fault.MALFORMED: Response(whole[: len(whole) - 1], media_type="application/json"),
            Fault.EMPTY: Response(),
            Fault.WEB_PAGE: HTMLResponse(WEB_PAGE, status_code=403),
            Fault.ODD: Response(whole, media_type="application/json"),
        }
        if fault in answers:
            return answers[fault]
        in_words = (400, "99999", IN_WORDS.get(fault, ""))
        response = self.fail(*(in_words if fault in IN_WORDS else self.failures[fault]))
        if fault is Fault.RATE_LIMITED:
            now = clock.now().timestamp() if self.waits_until else 0
            response.headers[self.wait_header] = str(ceil(now) + WAIT_S)
        return response


def _raise_missing(_: Given) -> Any:
    """Raise Missing, for a path without an operation."""
    raise Missing


def _first(found: Iterator[T]) -> T:
    for each in found:
        return each
    raise Missing


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
        self._thread.join(STOP_WITHIN_S)
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
