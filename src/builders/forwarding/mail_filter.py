"""The mail filter: changes and signs the mail that must not leave as it came, and returns it to the mail server.

The mail server hands over mail to a name with `reply`, mail to a reverse address, and mail whose author's policy
refuses it from other servers (deploy/etc/postfix). A message is passed on when the mail server has the changed one
in its queue. So none is lost: if one of both ends before, the mail server hands the message over again.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from uuid import UUID

from aiosmtplib import SMTP, SMTPException, SMTPResponseException

from builders.aliases.records import Alias
from builders.domains import dkim_keys
from builders.forwarding import contents, correspondents, messages, receptions, store
from builders.forwarding.contents import Arrival
from builders.forwarding.filter_addresses import DOMAIN, REVERSE, HandedName, find_name
from builders.forwarding.messages import MalformedMessage, Message, Own
from builders.forwarding.records import ReplyRoute
from builders.kit.db.connections import Database
from builders.kit.db.restores import Known
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.mail.addresses import normal
from builders.mail.sender import Signer

SEND_S = 60.0  # each step of the return to the mail server
TRY_LATER = "451 4.3.0 The mail filter has no answer now."
GONE = "550 5.1.1 This address does not receive mail."
NOT_OWNER = "550 5.7.1 Only the owner of the name can reply here, from a confirmed destination, with SPF or DKIM."
TOO_MANY = f"450 4.7.1 The account has sent {correspondents.MAX_REPLIES} replies today. Try again tomorrow."
NO_KEY = "450 4.7.5 The domain of the name has no signing key yet. Try again later."
REPORT = "550 5.7.1 A report names who got a message, and does not leave as a reply."
RECEIVED = "250 2.0.0 Received as an event."
_UTF8 = ("SMTPUTF8", "BODY=8BITMIME")  # RFC 6531, 3.4 and 3.6
_PURPOSE = "forwarding/message ids"


class Refused(Exception):
    """The message is not passed on; the text is the reply to the mail server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """A message and its envelope."""

    sender: str
    recipients: Sequence[str]
    content: bytes
    is_utf8: bool  # the next server must support internationalized mail (RFC 6531)


class MailFilter:
    """Passes messages on."""

    def __init__(
        self, database: Database, keyring: Keyring, *, host: str, own: Own, returns_to: tuple[str, int]
    ) -> None:
        """Use a database; `host` is the name of the mail server, which takes messages back at `returns_to`.

        `own` finds the mail that the service itself sends.
        """
        self._database, self._keyring, self._own = database, keyring, own
        self._restores = Known(database)
        self._host, self._returns_to = host, returns_to

    async def pass_on(self, mail: Mail) -> str:
        """Pass a message to one recipient on; return the reply of the mail server.

        Raise Refused, DatabaseUnavailable, DatabaseBusy and AwaitsAcceptance.
        """
        await self._restores.require_accepted()
        mail = replace(mail, content=await asyncio.to_thread(messages.with_whole_ends, mail.content))
        local_part, _, domain = mail.recipients[0].rpartition("@")
        name = find_name(local_part)
        if domain != DOMAIN:
            return await self._return(await self._as_domain(mail))
        if name is not None and name.is_event:
            return await self._receive(mail, name)
        if name is not None:
            return await self._return(await self._to_owner(mail, name))
        if REVERSE.fullmatch(local_part):
            return await self._reply(local_part, mail)
        raise Refused(GONE)

    async def send(self, content: bytes, *, domain: str, sender: str, to: str) -> str:
        """Sign and send a message from a name; return the reply of the mail server. Raise Refused."""
        signer = await self._find_signer(domain)
        if signer is None:
            raise Refused(NO_KEY)
        signed = await _sign(signer, content)
        return await self._return(Mail(sender=sender, recipients=[to], content=signed, is_utf8=False))

    async def _as_domain(self, mail: Mail) -> Mail:
        """Return a message as from the domain that the mail server names, if it signs."""
        changed = mail.content
        with suppress(MalformedMessage):
            message = await asyncio.to_thread(messages.read, mail.content)
            changed = messages.unmarked(message)
            author = await asyncio.to_thread(messages.read_author, message)
            domain = next(iter(message.values(messages.VIA)), "")
            if (signer := await self._find_signer(domain)) is not None:
                rewritten = messages.with_domain(message, author=author, domain=domain)
                changed = await _sign(signer, rewritten)
        return replace(mail, content=changed)

    async def _receive(self, mail: Mail, name: HandedName) -> str:
        """Store a message for the event of a name; return that it is."""
        with suppress(MalformedMessage):  # it is forwarded only
            message = await asyncio.to_thread(messages.read, mail.content)
            arrival = await asyncio.to_thread(self._arrive, message, has_sender=bool(mail.sender))
            if arrival is not None:
                async with self._database.transaction() as conn:
                    await receptions.receive(
                        conn,
                        keyring=self._keyring,
                        account_id=name.account_id,
                        alias_id=name.alias_id,
                        arrival=arrival,
                    )
        return RECEIVED

    def _arrive(self, message: Message, *, has_sender: bool) -> Arrival | None:
        """Return a message that arrived; None for one of the service.

        It mails codes and links: a program that reads the mail to a name must not get them.
        """
        if messages.is_about(message, self._own):
            return None
        return contents.parse(message, has_sender=has_sender, own=self._own)

    async def _to_owner(self, mail: Mail, name: HandedName) -> Mail:
        """Return a message to the destinations of a name, as from the reverse address of its author.

        It stays as it is if nobody can reply to it: a report, or one of more than one author.
        """
        async with self._database.connection() as conn:
            alias = await correspondents.find_replying(conn, account_id=name.account_id, alias_id=name.alias_id)
        if alias is None:
            raise Refused(GONE)
        if not alias.receiving:
            raise Refused(TRY_LATER)
        changed = mail.content
        with suppress(MalformedMessage):
            message = await asyncio.to_thread(messages.read, mail.content)
            changed = messages.unmarked(message)
            author = await asyncio.to_thread(messages.read_author, message)
            signer = await self._find_signer(alias.domain) if mail.sender else None
            address = await asyncio.to_thread(messages.read_reply_address, message, author)
            reverse = await self._find_reverse(name.account_id, alias, address) if signer else None
            if signer is not None and reverse is not None:
                rewritten = messages.with_reverse(
                    message, author=author, reverse=f"{reverse}@{alias.domain}", domain=alias.domain
                )
                changed = await _sign(signer, rewritten)
        return replace(mail, recipients=alias.receiving, content=changed)

    async def _reply(self, name: str, mail: Mail) -> str:
        """Send a reply to the correspondent of a reverse address, as from the name; return the server's reply."""
        async with self._database.connection() as conn:
            route = await correspondents.find_route(conn, name=name)
        if route is None:
            raise Refused(GONE)
        reply = await self._as_name(route, mail)
        async with self._database.connection() as conn:
            if not await correspondents.count_reply(conn, account_id=route.account_id):
                raise Refused(TOO_MANY)
            # Before the reply leaves: a failure after that would send it twice.
            await store.touch_correspondent(conn, account_id=route.account_id, id=route.id, now=clock.now())
        try:
            return await self._return(reply)
        except Refused:
            async with self._database.connection() as conn:
                await correspondents.uncount_reply(conn, account_id=route.account_id)
            raise

    async def _as_name(self, route: ReplyRoute, mail: Mail) -> Mail:
        """Return a reply as from its name. Raise Refused unless its author owns a destination of the name."""
        try:
            message = await asyncio.to_thread(messages.read, mail.content)
            author = await asyncio.to_thread(messages.read_author, message)
        except MalformedMessage as error:
            raise Refused(f"550 5.6.0 {error}") from None
        owners = {normal(each) for each in route.destinations}
        if normal(author.address) not in owners or not messages.read_results(message).proves(author.address):
            raise Refused(NOT_OWNER)
        if messages.is_report(message):
            raise Refused(REPORT)
        signer = await self._find_signer(route.domain)
        if signer is None:
            raise Refused(NO_KEY)
        alias = f"{route.local_part}@{route.domain}"
        recipients = await asyncio.to_thread(messages.list_recipients, message)
        async with self._database.connection() as conn:
            known = await correspondents.load_addresses(
                conn, keyring=self._keyring, route=route, recipients=recipients
            )
        shown = {**known, **dict.fromkeys(owners, alias)}
        identity = await asyncio.to_thread(messages.identify, message)
        digest = self._keyring.hash_token(_PURPOSE, f"{route.id} {identity}").hex()[:32]
        changed = await asyncio.to_thread(
            messages.as_reply,
            message,
            alias=alias,
            owner=author.address,
            message_id=f"<{digest}@{route.domain}>",
            mapped=lambda address: shown.get(normal(address), address),
        )
        to = correspondents.read_address(self._keyring, route)
        # An answer of a program has no return address, so that no other program answers it (RFC 3834).
        sender = alias if mail.sender else ""
        return replace(mail, sender=sender, recipients=[to], content=await _sign(signer, changed))

    async def _find_reverse(self, account_id: UUID, alias: Alias, address: str) -> str | None:
        async with self._database.transaction() as conn:
            found = await correspondents.find_or_add(
                conn, keyring=self._keyring, account_id=account_id, alias=alias, address=address
            )
        return None if found is None else found.name

    async def _find_signer(self, domain: str) -> Signer | None:
        async with self._database.connection() as conn:
            key = await dkim_keys.find_signing_key(conn, keyring=self._keyring, domain=domain)
        return None if key is None else Signer(selector=key.selector, domain=domain, pem=key.pem)

    async def _return(self, mail: Mail) -> str:
        """Return a message to the mail server; return its reply. Raise Refused."""
        host, port = self._returns_to
        options = _UTF8 if mail.is_utf8 or not all(map(str.isascii, mail.recipients)) else _UTF8[1:]
        client = SMTP(
            hostname=host, port=port, timeout=SEND_S, use_tls=False, start_tls=False, local_hostname=self._host
        )
        try:
            await client.connect()
            await client.mail(mail.sender, options=options)
            for recipient in mail.recipients:
                await client.rcpt(recipient)
            _, queued = await client.data(mail.content)
        except SMTPResponseException as error:
            raise Refused(f"{error.code} {error.message}") from None
        except (SMTPException, OSError):
            raise Refused(TRY_LATER) from None
        finally:
            client.close()
        return f"250 {queued}"


async def _sign(signer: Signer, content: bytes) -> bytes:
    """Return the message with a signature; in a thread, because a large one takes a second."""
    return await asyncio.to_thread(signer.sign, content, at=clock.now())
