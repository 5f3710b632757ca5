"""Transports of messages: the development outbox, and SMTP (RFC 5321), which keeps connections for a while.

A refusal of the greeting, TLS, AUTH or MAIL FROM is a fault of the configuration, so the message is deferred. A
5xx reply to RCPT or DATA is final.
"""

import asyncio
import base64
import os
import re
import ssl
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Literal, Protocol
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit
from uuid import UUID

from aiosmtplib import (
    SMTP,
    SMTPAuthenticationError,
    SMTPDataError,
    SMTPException,
    SMTPHeloError,
    SMTPNotSupported,
    SMTPRecipientRefused,
    SMTPResponseException,
)

from builders.kit.process import traces
from builders.kit.process.redaction import MASK
from builders.mail.records import Status

PERMANENT, UNAUTHENTICATED = 500, {530, 534, 535, 538}
SUBMISSION, SUBMISSIONS = 587, 465  # RFC 6409; RFC 8314, 3.3
_LOOPBACK = re.compile(r"localhost|127(?:\.\d{1,3}){3}|::1")
_ALSO_UTF8 = ("SMTPUTF8", "BODY=8BITMIME")  # RFC 6531, 3.4 and 3.6
# Encryption from the start; by an upgrade that is required, or used if it is offered; or none.
Tls = Literal["implicit", "required", "optional", "never"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingMessage:
    """A rendered message and its envelope."""

    id: UUID
    template: str
    created_at: datetime
    sender: str
    recipient: str
    content: bytes = field(repr=False)

    @property
    def needs_utf8(self) -> bool:
        """Return whether the server must support internationalized mail (RFC 6531)."""
        return not self.recipient.isascii()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of an attempt: sent, bounced, or deferred."""

    status: Status
    code: int | None = None  # of the server's reply
    text: str = ""
    is_local_error: bool = False  # the configuration is wrong, not the recipient's address


class Transport(Protocol):
    """Sends messages."""

    async def send(self, message: OutgoingMessage) -> Outcome:
        """Make one attempt."""


class FolderTransport:
    """The development outbox: `.eml` files, readable by the owner alone, whose names sort by time."""

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir / "outbox"

    async def send(self, message: OutgoingMessage) -> Outcome:
        """Write the message; a repeated attempt overwrites its file."""
        await asyncio.to_thread(self._write, message)
        return Outcome(status=Status.SENT)

    def list_files(self) -> Sequence[Path]:
        """Return the messages, oldest first."""
        return sorted(self.path.glob("*.eml"))

    async def prune(self, before: float) -> None:
        """Delete the files, also unfinished ones, that were written before a time (POSIX)."""
        await asyncio.to_thread(self._prune, before)

    def _prune(self, before: float) -> None:
        for file in self.path.iterdir() if self.path.is_dir() else ():
            with suppress(FileNotFoundError):  # another worker deletes it too
                if file.suffix in {".eml", ""} and file.stat().st_mtime < before:
                    file.unlink()

    def _write(self, message: OutgoingMessage) -> None:
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The id sorts messages within a second.
        name = f"{message.created_at:%Y%m%dT%H%M%SZ}-{message.id.hex}-{message.template}.eml"
        descriptor, draft = tempfile.mkstemp(dir=self.path, prefix=".")  # with mode 0600
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(message.content)
            Path(draft).replace(self.path / name)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise


@dataclass(frozen=True, slots=True, kw_only=True)
class SmtpServer:
    """The mail server of `BUILDERS_SMTP_URL`."""

    host: str
    port: int
    tls: Tls
    user: str | None = None
    password: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Time limits in seconds."""

    connect_s: float = 10
    command_s: float = 15
    data_s: float = 40  # longer, because a server may scan the message before it replies
    total_s: float = 60
    idle_s: float = 30  # until an unused connection is closed


class _Misconfigured(Exception):
    """The server does not fit the settings."""


class SmtpTransport:
    """Sends messages to one server; a connection sends one message at a time."""

    def __init__(self, server: SmtpServer, *, own_name: str, limits: Limits | None = None) -> None:
        self._server = server
        self._own_name = own_name  # in EHLO
        self._limits = limits or Limits()
        self._idle: list[tuple[SMTP, asyncio.TimerHandle]] = []
        self._closing: set[asyncio.Task[None]] = set()

    @cached_property  # it takes 30 ms to read the authorities of the system, which not every server needs
    def _tls_context(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    async def send(self, message: OutgoingMessage) -> Outcome:
        """Make one attempt, in bounded time."""
        with traces.span("smtp.send", "client") as span:
            try:
                async with asyncio.timeout(self._limits.total_s):
                    outcome = self._masked(await self._attempt(message))
            except TimeoutError:
                outcome = self._too_slow()
            span.set(error=None if outcome.status is Status.SENT else outcome.status)
            return outcome

    async def probe(self) -> Outcome | None:
        """Connect and sign in as for a message, in bounded time; return why that fails, or None."""
        try:
            async with asyncio.timeout(self._limits.total_s):
                client = await self._open()
        except TimeoutError:
            return self._too_slow()
        if isinstance(client, Outcome):
            return self._masked(client)
        await _quit(client)
        return None

    async def close(self) -> None:
        """Close the connections."""
        for client, timer in self._idle:
            timer.cancel()
            self._close_later(client)
        self._idle.clear()
        await asyncio.gather(*self._closing)

    async def _attempt(self, message: OutgoingMessage) -> Outcome:
        kept = self._take()
        if kept is not None:
            outcome = await self._transmit(kept, message, is_kept=True)
            if outcome is not None:
                return outcome
        client = await self._open()
        if isinstance(client, Outcome):
            return client
        outcome = await self._transmit(client, message, is_kept=False)
        return outcome or Outcome(status=Status.DEFERRED, text="The connection was lost.")

    def _masked(self, outcome: Outcome) -> Outcome:
        """Return the outcome without the password, which the server may repeat as it was sent (PLAIN, LOGIN)."""
        if not (password := self._server.password):
            return outcome
        sent = (f"\0{self._server.user}\0{password}", password)
        text = outcome.text
        for each in (*(base64.b64encode(value.encode()).decode() for value in sent), password):
            text = text.replace(each, MASK)
        return replace(outcome, text=text)

    def _too_slow(self) -> Outcome:
        text = f"The mail server took longer than {self._limits.total_s:.0f} s."
        return Outcome(status=Status.DEFERRED, text=text)

    async def _open(self) -> SMTP | Outcome:
        """Return a connection that is ready for a message, or why there is none."""
        is_implicit = self._server.tls == "implicit"
        client = SMTP(
            hostname=self._server.host,
            port=self._server.port,
            use_tls=is_implicit,
            start_tls=False,  # _connect applies the settings
            tls_context=self._tls_context if is_implicit else None,
            timeout=self._limits.command_s,
            local_hostname=self._own_name,
        )
        try:
            await self._connect(client)
        except BaseException as error:
            client.close()
            if isinstance(error, (SMTPException, OSError, _Misconfigured)):
                code = error.code if isinstance(error, SMTPResponseException) else None
                text = error.message if isinstance(error, SMTPResponseException) else str(error)
                if isinstance(error, SMTPAuthenticationError):
                    text = f"The mail server refused our user and password: {text}"
                is_ours = (
                    isinstance(error, (_Misconfigured, SMTPNotSupported))
                    or isinstance(error.__cause__ or error, ssl.SSLError)
                    or type(error) is SMTPException  # no AUTH, or none of our methods
                    or (code or 0) >= PERMANENT
                )
                return Outcome(status=Status.DEFERRED, code=code, text=text, is_local_error=is_ours)
            raise
        return client

    def _take(self) -> SMTP | None:
        while self._idle:
            client, timer = self._idle.pop()
            timer.cancel()
            if client.is_connected:
                return client
        return None

    async def _connect(self, client: SMTP) -> None:
        server = self._server
        await client.connect(timeout=self._limits.connect_s)
        await _greet(client)
        if server.tls in {"required", "optional"} and client.supports_extension("starttls"):
            await client.starttls(tls_context=self._tls_context, timeout=self._limits.connect_s)
            await _greet(client)
        elif server.tls == "required":
            raise _Misconfigured("The mail server offers no STARTTLS, which BUILDERS_SMTP_URL requires.")
        if server.user is not None:
            if client.get_transport_info("sslcontext") is None and not _is_loopback(server.host):
                raise _Misconfigured("The mail server offers no STARTTLS; the password is not sent unencrypted.")
            await client.login(server.user, server.password)

    async def _transmit(self, client: SMTP, message: OutgoingMessage, *, is_kept: bool) -> Outcome | None:
        """Return the outcome; None when a kept connection was stale before the message was sent."""
        is_begun = is_slow = False
        try:
            if message.needs_utf8 and not client.supports_extension("smtputf8"):
                outcome = Outcome(
                    status=Status.BOUNCED, text="The mail server does not accept addresses beyond ASCII."
                )
            else:
                options = _ALSO_UTF8 if message.needs_utf8 else ()
                await client.mail(message.sender, options=options, encoding="utf-8")
                await client.rcpt(message.recipient, encoding="utf-8")
                is_begun = True
                reply = await client.data(message.content, timeout=self._limits.data_s)
                outcome = Outcome(status=Status.SENT, code=reply.code)
        except SMTPResponseException as refusal:
            outcome = _refused(refusal)
        except (SMTPException, OSError) as error:
            client.close()
            is_slow = isinstance(error, TimeoutError)
            outcome = Outcome(status=Status.DEFERRED, text=str(error))
        except BaseException:
            client.close()
            raise
        if is_kept and not is_begun and not client.is_connected and not is_slow:
            return None
        await self._keep(client, is_clean=outcome.status is Status.SENT)
        return outcome

    async def _keep(self, client: SMTP, *, is_clean: bool) -> None:
        if not client.is_connected:
            return
        if not is_clean:
            try:
                await client.rset()
            except (SMTPException, OSError):
                client.close()
                return
        timer = asyncio.get_running_loop().call_later(self._limits.idle_s, self._retire, client)
        self._idle.append((client, timer))

    def _retire(self, client: SMTP) -> None:
        self._idle = [each for each in self._idle if each[0] is not client]
        self._close_later(client)

    def _close_later(self, client: SMTP) -> None:
        task = asyncio.create_task(_quit(client))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


async def _greet(client: SMTP) -> None:
    try:
        await client.ehlo()
    except SMTPHeloError:
        if not client.is_connected:
            raise
        await client.helo()


async def _quit(client: SMTP) -> None:
    with suppress(SMTPException, OSError):
        await client.quit(timeout=1)
    client.close()


def _refused(refusal: SMTPResponseException) -> Outcome:
    is_final = refusal.code >= PERMANENT
    is_about_message = isinstance(refusal, (SMTPRecipientRefused, SMTPDataError))
    is_bounce = is_final and is_about_message and refusal.code not in UNAUTHENTICATED
    return Outcome(
        status=Status.BOUNCED if is_bounce else Status.DEFERRED,
        code=refusal.code,
        text=refusal.message,
        is_local_error=is_final and not is_bounce,
    )


def parse_url(url: str) -> SmtpServer:
    """Return the server of a URL `smtp://` or `smtps://`.

    TLS is required by default, except on a loopback host. Raise ValueError, whose text omits the password.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
        (host or "").encode("idna")  # as a connection does
    except ValueError:
        raise ValueError(
            "it is not a URL: the port must be a number, a host in brackets must be an IPv6 address, and a name "
            "has 1 to 63 characters between two dots"
        ) from None
    if parts.scheme not in {"smtp", "smtps"} or not host or parts.path not in {"", "/"} or parts.fragment:
        raise ValueError("write smtp://USER:PASSWORD@HOST:PORT or smtps://…; escape / @ : # in a password, as %2F")
    tls = _tls(parts, host)
    return SmtpServer(
        host=host,
        port=port or (SUBMISSIONS if tls == "implicit" else SUBMISSION),
        tls=tls,
        user=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password or ""),
    )


def _tls(parts: SplitResult, host: str) -> Tls:
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    wanted = options.pop("starttls", None)
    if options:
        raise ValueError(f"starttls is the only option, not {min(options)}")
    if parts.scheme == "smtps":
        if wanted is not None:
            raise ValueError("smtps:// is always encrypted; starttls is only for smtp://")
        return "implicit"
    match wanted:
        case None:
            return "never" if _is_loopback(host) else "required"
        case "required" | "optional":
            return wanted
        case "never":
            if parts.username and not _is_loopback(host):
                raise ValueError("with starttls=never the password would be sent unencrypted")
            return "never"
    raise ValueError("starttls must be required, optional or never")


def _is_loopback(host: str) -> bool:
    return _LOOPBACK.fullmatch(host) is not None
