"""The server of the mail filter: LMTP (RFC 2033), one recipient at a time, so that each has its own result."""

import asyncio
import signal
import socket

import psycopg
from aiosmtpd.lmtp import LMTP
from aiosmtpd.smtp import SMTP, Envelope, Session

from builders.forwarding.answer_sender import AnswerSender
from builders.forwarding.mail_filter import TRY_LATER, Mail, MailFilter, Refused
from builders.forwarding.mail_server import QUEUE_BYTES, RETURN, find_host
from builders.forwarding.messages import Own
from builders.kit.db.connections import Database
from builders.kit.db.restores import AwaitsAcceptance
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.process import log, secret_keys, supervision
from builders.kit.process.settings import Settings
from builders.mail.sender import read_sender

BACKLOG = 2048  # connections that wait while the process is restarted
STOP_S = 20.0  # for the messages in hand, when the process stops
ONE_RECIPIENT = "452 4.5.3 One recipient at a time."
OK = "250 2.1.5 OK"
MAX_LINES = 1_000_000  # of a message; 35 MB of base64 have half of them
TOO_MANY_LINES = "552 5.3.4 The message has too many lines."
RECEIVED_AT_ONCE = 16 * 1024  # bytes; aiosmtpd reads all lines of what has arrived in one turn of the loop
_END = b"\r\n.\r\n"  # of a message
NULL_SENDER = "<>"  # as aiosmtpd reads that of a report

_log = log.get_logger()


class BoundedLMTP(LMTP):
    """A connection whose messages take a bounded time of the loop, and memory: aiosmtpd keeps each line apart."""

    def __init__(self, handler: "Handler", *, max_lines: int) -> None:
        """Pass messages to a handler."""
        super().__init__(handler, data_size_limit=QUEUE_BYTES, enable_SMTPUTF8=True, hostname="filter")
        self._max_lines = max_lines
        self._lines, self._is_skipping = 0, False
        self._tail = b""  # the last bytes that arrived, in which the end of the message may begin

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Let little arrive at once."""
        connection: socket.socket = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVED_AT_ONCE)
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Read what has arrived, but no more lines than a message has: then only the end of the message."""
        self._lines += data.count(b"\n")
        arrived, known = self._tail + data, len(self._tail)
        end = arrived.find(_END)
        if self._is_skipping:
            data = b"" if end == -1 else arrived[max(end, known) :]
        self._is_skipping = self._lines > self._max_lines and end == -1
        self._tail = arrived[1 - len(_END) :]
        if data:
            super().data_received(data)

    def end_message(self) -> bool:
        """Return whether the message that has ended has too many lines; count those of the next one."""
        is_too_long, self._lines = self._lines > self._max_lines, 0
        return is_too_long


class Handler:
    """Handles the sessions; the names of the methods are those of aiosmtpd."""

    def __init__(self, mail_filter: MailFilter, *, max_lines: int = MAX_LINES) -> None:
        """Pass messages of so many lines to the filter."""
        self._filter, self._max_lines = mail_filter, max_lines
        self._idle = asyncio.Event()
        self._idle.set()
        self._in_hand = 0

    def protocol(self) -> LMTP:
        """Return the protocol of a connection."""
        return BoundedLMTP(self, max_lines=self._max_lines)

    async def wait(self) -> None:
        """Wait until no message is in hand."""
        await self._idle.wait()

    async def handle_RCPT(  # noqa: N802 # a name of aiosmtpd
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Accept one recipient."""
        del server, session, options
        if envelope.rcpt_tos:
            return ONE_RECIPIENT
        envelope.rcpt_tos.append(address)
        return OK

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802 # as above
        """Return the reply of the mail server that took the changed message back, or why it did not."""
        del session
        if isinstance(server, BoundedLMTP) and server.end_message():
            return TOO_MANY_LINES
        self._in_hand += 1
        self._idle.clear()
        try:
            return await self._pass_on(envelope)
        finally:
            self._in_hand -= 1
            if not self._in_hand:
                self._idle.set()

    async def handle_exception(self, error: Exception) -> str:
        """Return the reply after a fault of the filter, which is never the fault of the mail."""
        _log.error("mail_filter_failed", exc_info=error)
        return TRY_LATER

    async def _pass_on(self, envelope: Envelope) -> str:
        mail = Mail(
            sender="" if envelope.mail_from in {None, NULL_SENDER} else envelope.mail_from,
            recipients=envelope.rcpt_tos,
            content=envelope.original_content or b"",
            is_utf8=envelope.smtp_utf8,
        )
        try:
            return await self._filter.pass_on(mail)
        except Refused as refusal:
            return str(refusal)
        except (DatabaseUnavailable, DatabaseBusy, psycopg.Error, secret_keys.Unsealable) as error:
            _log.error("mail_not_filtered", error=str(error))
        except AwaitsAcceptance:
            pass  # the mail server keeps the mail
        return TRY_LATER


async def main(settings: Settings, listener: socket.socket) -> None:
    """Pass the messages of the mail server on until SIGTERM; then end those in hand."""
    database = Database(settings.conninfo, settings)
    await database.open()
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    host = find_host(settings) or "localhost"
    mail_filter = MailFilter(
        database,
        secret_keys.keyring_of(settings),
        host=host,
        own=Own(domain=read_sender(settings).domain, url=settings.url),
        returns_to=RETURN,
    )
    handler = Handler(mail_filter)
    server = await loop.create_server(handler.protocol, sock=listener, backlog=BACKLOG)
    sending = asyncio.create_task(
        AnswerSender(database, secret_keys.keyring_of(settings), mail_filter).run(stopping)
    )
    _log.info("mail_filter_started")
    with supervision.beating("filter"):
        await stopping.wait()
    server.close()
    async with asyncio.timeout(STOP_S):
        await handler.wait()
        await sending
    await database.close()
