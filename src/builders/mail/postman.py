"""Hands mail to a server by SMTP (RFC 5321), over a few connections that are kept for the next message.

What a server says of us (greeting, TLS, AUTH, MAIL FROM) is no reader's fault: such mail waits until somebody has
put the set-up right. What it says of the reader or of the message (RCPT, DATA) is final when it is a 5xx.
"""

import asyncio
import ssl
from contextlib import suppress
from dataclasses import dataclass

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

from builders.mail.carriers import Outcome, Parcel
from builders.mail.records import Status
from builders.mail.server import Server, StartTls

PERMANENT, CLOSING, UNAUTHENTICATED = 500, 421, {530, 534, 535, 538}
_ALSO_UTF8 = ("SMTPUTF8", "BODY=8BITMIME")  # RFC 6531, 3.4 and 3.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Time limits in seconds."""

    connect_s: float = 10
    command_s: float = 15
    data_s: float = 40  # longer: a server may look for viruses before it answers, and then has the message
    total_s: float = 60
    idle_s: float = 30  # that a connection is kept without a message


class _Misconfigured(Exception):
    """The server and our settings do not fit."""


class Postman:
    """Carries messages to one server; each connection is used by one message at a time."""

    def __init__(self, server: Server, *, own_name: str, limits: Limits | None = None) -> None:
        self._server = server
        self._own_name = own_name  # said in EHLO
        self._limits = limits or Limits()
        self._context = ssl.create_default_context()
        self._idle: list[tuple[SMTP, asyncio.TimerHandle]] = []
        self._leaving: set[asyncio.Task[None]] = set()

    async def carry(self, parcel: Parcel) -> Outcome:
        """One attempt, in bounded time."""
        try:
            async with asyncio.timeout(self._limits.total_s):
                return await self._attempt(parcel)
        except TimeoutError:
            return _deferred(f"The mail server took longer than {self._limits.total_s:.0f} s.")

    async def close(self) -> None:
        """Takes leave of the server."""
        for client, timer in self._idle:
            timer.cancel()
            self._leave(client)
        self._idle.clear()
        await asyncio.gather(*self._leaving)

    async def _attempt(self, parcel: Parcel) -> Outcome:
        kept = self._take()
        if kept is not None:
            outcome = await self._hand_over(kept, parcel, is_kept=True)
            if outcome is not None:
                return outcome
        client = self._client()
        try:
            await self._connect(client)
        except BaseException as error:
            client.close()
            if isinstance(error, (SMTPException, OSError, _Misconfigured)):
                return _unconnected(error)
            raise
        return await self._hand_over(client, parcel, is_kept=False) or _deferred("The connection was lost.")

    def _take(self) -> SMTP | None:
        while self._idle:
            client, timer = self._idle.pop()
            timer.cancel()
            if client.is_connected:
                return client
        return None

    def _client(self) -> SMTP:
        return SMTP(
            hostname=self._server.host,
            port=self._server.port,
            use_tls=self._server.tls == "implicit",
            start_tls=False,  # done here, by our own rules
            tls_context=self._context,
            timeout=self._limits.command_s,
            local_hostname=self._own_name,
        )

    async def _connect(self, client: SMTP) -> None:
        server = self._server
        await client.connect(timeout=self._limits.connect_s)
        await _greet(client)
        if server.tls in {StartTls.REQUIRED, StartTls.OPTIONAL} and client.supports_extension("starttls"):
            await client.starttls(timeout=self._limits.connect_s)
            await _greet(client)
        elif server.tls == StartTls.REQUIRED:
            raise _Misconfigured("The mail server offers no STARTTLS, which BUILDERS_SMTP_URL requires.")
        if server.user is not None:
            if client.get_transport_info("sslcontext") is None and not server.is_loopback:
                raise _Misconfigured("The mail server offers no STARTTLS, and no password goes in the clear.")
            await client.login(server.user, server.password)

    async def _hand_over(self, client: SMTP, parcel: Parcel, *, is_kept: bool) -> Outcome | None:
        """How it went; None when a kept connection turned out to be stale before anything was handed over."""
        is_begun = is_slow = False
        try:
            if parcel.needs_utf8 and not client.supports_extension("smtputf8"):
                outcome = _bounced(None, "The mail server takes no address beyond ASCII.")
            else:
                options = _ALSO_UTF8 if parcel.needs_utf8 else ()
                await client.mail(parcel.sender, options=options, encoding="utf-8")
                await client.rcpt(parcel.recipient, encoding="utf-8")
                is_begun = True
                reply = await client.data(parcel.content, timeout=self._limits.data_s)
                outcome = Outcome(status=Status.SENT, code=reply.code)
        except SMTPResponseException as refusal:
            outcome = _refused(refusal)
        except (SMTPException, OSError) as error:
            client.close()
            is_slow = isinstance(error, TimeoutError)
            outcome = _deferred(str(error))
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
        self._leave(client)

    def _leave(self, client: SMTP) -> None:
        task = asyncio.create_task(_quit(client))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)


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


def _unconnected(error: BaseException) -> Outcome:
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
    return Outcome(status=Status.DEFERRED, code=code, text=text, is_our_fault=is_ours)


def _refused(refusal: SMTPResponseException) -> Outcome:
    is_final = refusal.code >= PERMANENT
    about_reader = isinstance(refusal, (SMTPRecipientRefused, SMTPDataError))
    if is_final and about_reader and refusal.code not in UNAUTHENTICATED:
        return _bounced(refusal.code, refusal.message)
    return Outcome(status=Status.DEFERRED, code=refusal.code, text=refusal.message, is_our_fault=is_final)


def _deferred(text: str) -> Outcome:
    return Outcome(status=Status.DEFERRED, text=text)


def _bounced(code: int | None, text: str) -> Outcome:
    return Outcome(status=Status.BOUNCED, code=code, text=text)
