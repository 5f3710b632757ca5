"""Notices about approvals: email to the deciders, and the audit of refused decisions."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.errors import Problem
from builders.kit.process.secret_keys import Keyring
from builders.mail import service as mail
from builders.mail.templates import EmailTemplate
from builders.portfolio.team import deciders
from builders.portfolio.team.records import Access


async def send(
    conn: Conn, *, keyring: Keyring, account_id: UUID, template: EmailTemplate, also: Sequence[str] = ()
) -> None:
    """Send an email to each decider of an account, and to other addresses."""
    people = await deciders.list_deciders(conn, account_id=account_id)
    for address in dict.fromkeys((*(each.email for each in people), *also)):
        await mail.send(conn, keyring=keyring, account_id=account_id, to=address, template=template)


@contextmanager
def audited(access: Access) -> Iterator[None]:
    """Let a refused decision of a person be in the audit list of the account that it is about."""
    try:
        yield
    except Problem as refusal:
        refusal.audited_for = access.owner_id
        raise
