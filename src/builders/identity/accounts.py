"""Accounts are made with their sandbox twins."""

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from builders.identity.errors import EmailTaken
from builders.identity.events import ACCOUNT_CREATED, AccountCreated
from builders.identity.records import Account
from builders.identity.store import accounts as store
from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.values import clock, ids
from builders.kit.values.emails import canonical


def kept_form(email: str) -> str:
    """An address as accounts keep it, to be looked for by; what is none is looked for all the same."""
    try:
        return canonical(email)
    except ValueError:
        return email.strip().lower()


async def create_account(conn: Conn, *, email: str, name: str | None = None, verified: bool) -> Account:
    """An account with its sandbox twin; publishes account.created. Raises EmailTaken."""
    now = clock.now()
    address = kept_form(email)
    account = Account(
        id=ids.new(),
        sandbox_id=ids.new(),
        email=address,
        name=name or address.partition("@")[0],
        email_verified_at=now if verified else None,
        created_at=now,
    )
    made = await store.insert_account(
        conn,
        account_id=account.id,
        sandbox_id=account.sandbox_id,
        email=account.email,
        name=account.name,
        verified_at=account.email_verified_at,
        now=now,
    )
    if not made:
        raise EmailTaken(f"An account has the address {address} already.")
    await outbox.publish(conn, ACCOUNT_CREATED, account_id=account.id, data=AccountCreated(verified=verified))
    return account


async def list_accounts_by_id(conn: Conn, *, account_ids: Collection[UUID]) -> Mapping[UUID, Account]:
    """Return the real accounts of these identifiers; unknown ones are left out."""
    return await store.list_accounts_by_id(conn, account_ids=account_ids)


async def list_accounts(conn: Conn, *, containing: str | None = None, limit: int) -> Sequence[Account]:
    """Return accounts whose address contains the text, newest first; for the operator."""
    return await store.list_accounts(conn, containing=containing and containing.lower(), limit=limit)
