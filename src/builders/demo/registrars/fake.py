"""What every fake registrar offers, and the server that runs it."""

import asyncio
import socket
from abc import ABC, abstractmethod
from collections.abc import Sequence
from threading import Thread
from typing import ClassVar, Self

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from builders.demo.registrars.account import FakeAccount, FakeDomain, Fault

HOST = "127.0.0.1"


class FakeRegistrar(ABC):
    """A registrar's API with one customer."""

    provider: ClassVar[str]
    credentials: ClassVar[dict[str, str]]  # that it accepts
    path: ClassVar[str] = ""  # of the base URL
    page_size: ClassVar[int]
    faults: ClassVar[frozenset[Fault]] = frozenset(Fault)  # that the registrar can give
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

    def app(self) -> ASGIApp:
        """Return the API as an ASGI application."""
        return Starlette(routes=list(self.routes()), middleware=[Middleware(_Faults, fake=self)])

    def find(self, domain: str) -> FakeDomain | None:
        """Return a domain of the account."""
        return next((each for each in self.account.domains if each.domain == domain.lower()), None)


class _Faults:
    """Plays the next fault of the account, or checks the credentials and passes the request on."""

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
    return fake.refuse(fault)


def _again(body: bytes) -> Receive:
    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


class FakeServer:
    """Serves fakes on the loopback address, in a thread of its own; a context manager."""

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
