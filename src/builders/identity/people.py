"""Changes that need a person: while plans of an account need an approval, no key can become a decider.

`identity_people.needs_person` is true while the approval policy is not `never`. Then, and while a machine has a
live mandate, a change of the address, of the deciders and of other sessions needs a fresh session of a person.
"""

from uuid import UUID

from builders.identity.errors import AccountNotFound
from builders.identity.store import accounts as store, keys
from builders.kit.callers import Actor, require_fresh_person
from builders.kit.db.connections import Conn
from builders.kit.values import clock


async def lock(conn: Conn, *, account_id: UUID) -> bool:
    """Lock the deciders of a real account and what they require until the transaction ends; return `needs_person`.

    It is true besides while a live key or connection of the account has a mandate. Call it before the deciders are
    read for a change of them or of the policy. Raise AccountNotFound.
    """
    needed = await store.lock_needs_person(conn, account_id=account_id)
    if needed is None:
        raise AccountNotFound
    return needed or await keys.has_live_mandate(conn, account_id=account_id, now=clock.now())


async def require_if_needed(conn: Conn, *, account_id: UUID, actor: Actor) -> None:
    """Raise PersonRequired or FreshSignInRequired where the account needs a person and the actor is none.

    The operator has a shell and needs no session. Locks as `lock`, so that a concurrent first policy waits.
    """
    if await lock(conn, account_id=account_id) and actor.type != "operator":
        require_fresh_person(actor, account_id=account_id)


async def set_needed(conn: Conn, *, account_id: UUID, needed: bool) -> None:
    """Set `needs_person` of a locked account, with its approval policy."""
    await store.set_needs_person(conn, account_id=account_id, needed=needed)
