"""What surrounds the mail server in its test: a name server, senders and the servers of destinations.

tests/forwarding/system/inside makes their addresses.
"""

import asyncio
import smtplib
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import SMTP as WIRE
from email.utils import formatdate, make_msgid
from typing import cast

import dkim  # type: ignore[import-untyped] # it has no types
import dns.flags
import dns.message
import dns.rdatatype
import dns.rrset
from aiosmtpd.smtp import SMTP, Envelope, Session

from builders.app import Service
from builders.domains import dkim_keys
from builders.kit.process.settings import Settings

HOST, HOST_IP = "mx1.builders.example", "192.0.2.25"
HOST_REVERSE = "25.2.0.192.in-addr.arpa."
NAME_SERVER, AUTHOR_IP, STRANGER_IP, SINK_IP = "192.0.2.53", "192.0.2.10", "192.0.2.66", "192.0.2.99"
FLOOD_IP = "192.0.2.67"  # reaches its limits
AUTHOR = "author.example"  # signs, has SPF, and p=reject
LIST = "lists.example"  # has SPF, and no policy
SINK = "mx.sink.example"
SELECTOR = "s1"
TIMEOUT_S = 20.0
MAX_BYTES = 50_000_000


class Names(asyncio.DatagramProtocol):
    """A name server. The mail of each domain without an own record goes to the sink."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.addresses = {f"{HOST}.": HOST_IP, f"{SINK}.": SINK_IP}
        self.exchanges: dict[str, str] = {}
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)  # that of the loop does not derive from it

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        assert self._transport is not None
        self._transport.sendto(self._answer(data).to_wire(), addr)

    def _answer(self, data: bytes) -> dns.message.Message:
        query = dns.message.from_wire(data)
        answer = dns.message.make_response(query)
        answer.flags |= dns.flags.RA
        question = query.question[0]
        name = question.name.to_text().lower()
        found = ""
        if question.rdtype == dns.rdatatype.A:
            found = self.addresses.get(name, "")
        elif question.rdtype == dns.rdatatype.TXT and name in self.texts:
            text = self.texts[name]
            found = " ".join(f'"{text[at : at + 200]}"' for at in range(0, len(text), 200))
        elif question.rdtype == dns.rdatatype.MX and name not in self.addresses:
            found = self.exchanges.get(name, f"10 {SINK}.")
        elif question.rdtype == dns.rdatatype.PTR:
            found = f"{HOST if name == HOST_REVERSE else SINK}."
        if found:
            answer.answer.append(dns.rrset.from_text(question.name, 1, "IN", question.rdtype, found))
        return answer

    def txt(self, name: bytes, timeout: int = 5) -> bytes | None:
        """Return a TXT record, as dkimpy asks for it."""
        del timeout
        found = self.texts.get(name.decode().lower())
        return None if found is None else found.encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A message that a destination received."""

    sender: str
    recipients: list[str]
    content: bytes
    is_encrypted: bool


@dataclass(slots=True)
class Sink:
    """The servers of all destinations."""

    tls: ssl.SSLContext | None = None
    replies: dict[str, str] = field(default_factory=dict)  # to RCPT, by address
    received: asyncio.Queue[Received] = field(default_factory=asyncio.Queue)

    async def handle_RCPT(  # noqa: N802 # the name is aiosmtpd's
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        del server, session, options
        reply = self.replies.get(address, "250 OK")
        if reply.startswith("250"):
            envelope.rcpt_tos.append(address)
        return reply

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802 # as above
        del server
        self.received.put_nowait(
            Received(
                sender=envelope.mail_from or "",
                recipients=list(envelope.rcpt_tos),
                content=envelope.original_content or b"",
                is_encrypted=session.ssl is not None,
            )
        )
        return "250 OK"

    def server(self) -> SMTP:
        """Return the protocol of a connection."""
        return SMTP(self, data_size_limit=MAX_BYTES, enable_SMTPUTF8=True, hostname=SINK, tls_context=self.tls)

    async def next(self) -> Received:
        """Return the next message."""
        async with asyncio.timeout(TIMEOUT_S):
            return await self.received.get()


def write(author: str, to: str, text: str = "Good morning.\n", **headers: str) -> bytes:
    """Return a message."""
    message = EmailMessage(policy=WIRE)
    message["From"], message["To"], message["Subject"] = author, to, "A question"
    message["Date"], message["Message-ID"] = formatdate(), make_msgid(domain=author.rpartition("@")[2])
    for name, value in headers.items():
        message[name] = value
    message.set_content(text)
    return message.as_bytes()


def sign(content: bytes, key: bytes, domain: str = AUTHOR) -> bytes:
    """Return the message with a signature of the domain."""
    signature: bytes = dkim.sign(content, SELECTOR.encode(), domain.encode(), key)
    return signature + content


async def ask(sender: str, recipients: Sequence[str], ip: str) -> Sequence[int]:
    """Send the commands of a message without its content, as they are; return the replies to the recipients."""
    return await asyncio.to_thread(_ask, sender, recipients, ip)


def _ask(sender: str, recipients: Sequence[str], ip: str) -> Sequence[int]:
    with smtplib.SMTP(HOST_IP, 25, SINK, TIMEOUT_S, (ip, 0)) as client:
        client.ehlo()
        client.docmd(f"MAIL FROM:<{sender}>")
        return [client.docmd(f"RCPT TO:<{each}>")[0] for each in recipients]


async def send(
    content: bytes,
    sender: str,
    *recipients: str,
    ip: str = AUTHOR_IP,
    options: tuple[str, ...] = (),
    tls: ssl.SSLContext | None = None,
) -> Mapping[str, tuple[int, str]]:
    """Send a message to the mail server; return the refusals by recipient, under "" that of the message."""
    return await asyncio.to_thread(_send, content, sender, recipients, ip, options, tls)


def _send(
    content: bytes,
    sender: str,
    recipients: tuple[str, ...],
    ip: str,
    options: tuple[str, ...],
    tls: ssl.SSLContext | None,
) -> Mapping[str, tuple[int, str]]:
    with smtplib.SMTP(HOST_IP, 25, SINK, TIMEOUT_S, (ip, 0)) as client:
        if tls is not None:
            client.starttls(context=tls)
        try:
            refused = client.sendmail(sender, recipients, content, mail_options=options)
        except smtplib.SMTPRecipientsRefused as error:
            refused = error.recipients
        except smtplib.SMTPResponseException as error:
            text = error.smtp_error
            return {"": (error.smtp_code, text.decode() if isinstance(text, bytes) else text)}
    return {to: (code, text.decode()) for to, (code, text) in refused.items()}


async def publish_key(service: Service, settings: Settings, names: Names, domain: str) -> None:
    """Let the DNS have the record of a domain's key."""
    state = service.api.state
    async with state.database.transaction() as conn:
        await dkim_keys.make(conn, keyring=state.keyring, domains=[domain])
        (key,) = await dkim_keys.list_keys(conn, domains=[domain])
    names.texts[f"{key.name}."] = key.value
    own = settings.model_copy(update={"dns_resolvers": (f"{NAME_SERVER}:53",)})
    await dkim_keys.check_due(state.database, settings=own)
