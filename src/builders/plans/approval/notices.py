"""Notices about approvals: email to the deciders, and the audit of refused decisions."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

from builders.identity import accounts, keys
from builders.kit.db.connections import Conn
from builders.kit.errors import Problem
from builders.kit.process.secret_keys import Keyring
from builders.mail import service as mail
from builders.mail.templates import ConnectionCreated, EmailTemplate
from builders.portfolio.team import deciders
from builders.portfolio.team.records import Access


async def send(
    conn: Conn, *, keyring: Keyring, account_id: UUID, template: EmailTemplate, also: Sequence[str] = ()
) -> None:
    """Send an email to each decider of an account, and to other addresses."""
    people = await deciders.list_deciders(conn, account_id=account_id)
    for address in dict.fromkeys((*(each.email for each in people), *also)):
        await mail.send(conn, keyring=keyring, account_id=account_id, to=address, template=template)


async def send_connection(
    conn: Conn, *, keyring: Keyring, account_id: UUID, connection_id: UUID, host: str
) -> None:
    """Notify the deciders of an account, itself among them, of a client that a person connected."""
    account = await accounts.get_account(conn, account_id=account_id)
    key = await keys.get_key(conn, account_id=account_id, key_id=connection_id)
    if account.email_verified_at is None or key.mandate is None or key.expires_at is None:
        return  # a stranger may own a mailbox that was never verified
    reads = ", read-only" if key.mandate.read_only else ""
    message = ConnectionCreated(
        account=account.email,
        client=key.label,
        host=host,
        rights=f"{key.key_kind.value}{reads}: {', '.join(key.mandate.toolsets)}",
        made_at=f"{key.created_at:%Y-%m-%d %H:%M} UTC",
        expires_on=key.expires_at.date(),
    )
    await send(conn, keyring=keyring, account_id=account_id, template=message)


@contextmanager
def audited(access: Access) -> Iterator[None]:
    """Let a refused decision of a person be in the audit list of the account that it is about."""
    try:
        yield
    except Problem as refusal:
        refusal.audited_for = access.owner_id
        raise
