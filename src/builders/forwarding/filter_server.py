"""The server of the mail filter: LMTP (RFC 2033), one recipient at a time, so that each has its own result."""

import asyncio
import signal
import socket

import psycopg
from aiosmtpd.lmtp import LMTP
from aiosmtpd.smtp import SMTP, Envelope, Session

from builders.forwarding.mail_filter import TRY_LATER, Mail, MailFilter, Refused
from builders.forwarding.mail_server import QUEUE_BYTES, RETURN, find_host
from builders.kit.db.connections import Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.process import log, secret_keys
from builders.kit.process.settings import Settings
from builders.mail.sender import read_sender

STOP_S = 20.0  # for the messages in hand, when the process stops
ONE_RECIPIENT = "452 4.5.3 One recipient at a time."
OK = "250 2.1.5 OK"
NULL_SENDER = "<>"  # as aiosmtpd reads that of a report

_log = log.get_logger()


class Handler:
    """Handles the sessions; the names of the methods are those of aiosmtpd."""

    def __init__(self, mail_filter: MailFilter) -> None:
        """Pass messages to the filter."""
        self._filter = mail_filter
        self._idle = asyncio.Event()
        self._idle.set()
        self._in_hand = 0

    def protocol(self) -> LMTP:
        """Return the protocol of a connection."""
        return LMTP(self, data_size_limit=QUEUE_BYTES, enable_SMTPUTF8=True, hostname="filter")

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
        del server, session
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
        return TRY_LATER


async def main(settings: Settings, listener: socket.socket) -> None:
    """Pass the messages of the mail server on until SIGTERM; then end those in hand."""
    if settings.database_url is None:
        raise RuntimeError("No database: set BUILDERS_DATABASE_URL, or start with `builders serve`.")
    database = Database(settings.database_url.get_secret_value(), settings)
    await database.open()
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    host = find_host(settings) or "localhost"
    mail_filter = MailFilter(
        database,
        secret_keys.keyring_of(settings),
        host=host,
        own_domain=read_sender(settings).domain,
        returns_to=RETURN,
    )
    handler = Handler(mail_filter)
    server = await loop.create_server(handler.protocol, sock=listener)
    _log.info("mail_filter_started")
    await stopping.wait()
    server.close()
    async with asyncio.timeout(STOP_S):
        await handler.wait()
    await database.close()
