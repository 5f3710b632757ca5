"""An SMTP server (aiosmtpd) on a loopback port with scripted replies."""

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import SMTPUTF8
from types import TracebackType
from typing import Any, Self

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

TEXT, HTML = "plain", "html"


@dataclass
class Received:
    """A received message."""

    sender: str
    recipients: Sequence[str]
    raw: bytes
    options: Sequence[str]

    @property
    def message(self) -> EmailMessage:
        """Return its headers and parts."""
        return BytesParser(EmailMessage, policy=SMTPUTF8).parsebytes(self.raw)

    def part(self, kind: str) -> str:
        """Return the content of a part."""
        body = self.message.get_body((kind,))
        assert body is not None
        content: str = body.get_content()
        return content


@dataclass
class Script:
    """The next replies of the server by stage, then `250`; or dropped connections."""

    mail: list[str] = field(default_factory=list)
    rcpt: list[str] = field(default_factory=list)
    data: list[str] = field(default_factory=list)
    auth: list[str] = field(default_factory=list)
    drops: int = 0  # connections to break during DATA
    drops_after: int = 0  # connections to break after the message, before the reply
    hangs: str = ""  # the stage without a reply


class MailServer:
    """A server that listens from `start` to `stop`, always on the same port."""

    def __init__(self, *, tls: ssl.SSLContext | None = None, implicit: bool = False, **options: Any) -> None:
        self.received: list[Received] = []
        self.connections = 0
        self.logins: list[tuple[bytes, bytes]] = []
        self.script = Script()
        self.port = 0
        self._tls, self._implicit, self._options = tls, implicit, options
        self._server: asyncio.Server | None = None
        self._sessions: set[_Session] = set()

    def url(self, *, credentials: str = "", query: str = "", host: str = "127.0.0.1") -> str:
        """Return its URL for the settings."""
        scheme = "smtps" if self._implicit else "smtp"
        return f"{scheme}://{credentials}{host}:{self.port}{query}"

    async def start(self) -> None:
        """Start to listen."""
        loop = asyncio.get_running_loop()
        implicit = self._tls if self._implicit else None
        self._server = await loop.create_server(self._session, "127.0.0.1", self.port, ssl=implicit)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Abort all connections and stop listening."""
        assert self._server is not None
        self._server.close()
        for session in list(self._sessions):
            session.abort()
        await asyncio.sleep(0)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def _session(self) -> SMTP:
        options = {"auth_require_tls": False, "enable_SMTPUTF8": True, **self._options}
        if not self._implicit:
            options["tls_context"] = self._tls
        if "authenticator" not in options and options.pop("takes_logins", False):
            options["authenticator"] = self._authenticate
        return _Session(self, _Handler(self), hostname="mx.test", loop=asyncio.get_running_loop(), **options)

    def _authenticate(self, _: Any, __: Any, ___: Any, ____: str, given: LoginPassword) -> AuthResult:
        self.logins.append((given.login, given.password))
        if self.script.auth:
            return AuthResult(success=False, handled=False, message=self.script.auth.pop(0))
        return AuthResult(success=True)


class _Session(SMTP):
    """A connection, which the server counts."""

    def __init__(self, owner: MailServer, handler: "_Handler", **options: Any) -> None:
        super().__init__(handler, **options)
        self.owner = owner

    def connection_made(self, transport: Any) -> None:
        if self.transport is None:  # called again after STARTTLS
            self.owner.connections += 1
        self.owner._sessions.add(self)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self.owner._sessions.discard(self)
        super().connection_lost(error)

    def abort(self) -> None:
        transport: Any = self.transport  # of either kind
        if transport is not None:
            transport.abort()

    async def smtp_DATA(self, arg: str) -> None:  # noqa: N802 - aiosmtpd's name
        if self.owner.script.drops:
            self.owner.script.drops -= 1
            await self.push("354 go on")
            await self._reader.readline()
            self.abort()
            return
        await super().smtp_DATA(arg)


class _Handler:
    def __init__(self, owner: MailServer) -> None:
        self._owner = owner

    async def _reply(self, stage: str, replies: list[str]) -> str | None:
        if self._owner.script.hangs == stage:
            await asyncio.Event().wait()
        return replies.pop(0) if replies else None

    async def handle_MAIL(self, _: SMTP, __: Session, envelope: Envelope, address: str, options: list[str]) -> str:  # noqa: N802 - aiosmtpd's name
        reply = await self._reply("mail", self._owner.script.mail)
        if reply is None:
            envelope.mail_from = address
            envelope.mail_options.extend(options)
        return reply or "250 OK"

    async def handle_RCPT(self, _: SMTP, __: Session, envelope: Envelope, address: str, options: list[str]) -> str:  # noqa: N802 - aiosmtpd's name
        del options
        reply = await self._reply("rcpt", self._owner.script.rcpt)
        if reply is None:
            envelope.rcpt_tos.append(address)
        return reply or "250 OK"

    async def handle_DATA(self, session_of: _Session, _: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's name
        reply = await self._reply("data", self._owner.script.data)
        if reply is not None:
            return reply
        assert isinstance(envelope.content, bytes)
        self._owner.received.append(
            Received(str(envelope.mail_from), envelope.rcpt_tos, envelope.content, envelope.mail_options)
        )
        if self._owner.script.drops_after:
            self._owner.script.drops_after -= 1
            session_of.abort()
        return "250 taken"
