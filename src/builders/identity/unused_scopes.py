"""Rights that a key or a connection does not use: shown after 90 days, and removed by a person for ever."""

from collections.abc import Collection
from dataclasses import replace
from uuid import UUID

from builders.identity import accounts, scopes
from builders.identity.errors import KeyNotFound
from builders.identity.keys import UNUSED_FOR, get_key
from builders.identity.records import ApiKey, AuditAction
from builders.identity.store import keys as store
from builders.kit.callers import Actor, require_person
from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid
from builders.kit.values import clock


def shown(key: ApiKey) -> ApiKey:
    """Return a key with the scopes that it had for UNUSED_FOR without using them."""
    before = clock.now() - UNUSED_FOR
    if key.created_at > before or key.revoked_at is not None:
        return key
    used = {scope for scope, day in key.scope_uses.items() if day >= before.date().isoformat()}
    return replace(key, unused_scopes=sorted(set(key.scopes) - used - {scopes.MAIL}))


async def remove(conn: Conn, *, account_id: UUID, key_id: UUID, removed: Collection[str], actor: Actor) -> ApiKey:
    """Take scopes away from a key or a connection, for ever; audit it.

    Every process refuses them within a second. Raise PersonRequired, KeyNotFound, Invalid for a scope that it does
    not have.
    """
    require_person(actor, account_id=account_id)
    before = await get_key(conn, account_id=account_id, key_id=key_id)
    if unknown := sorted(set(removed) - set(before.scopes) | set(removed) & {scopes.MAIL}):
        message = f"The key does not have {', '.join(unknown)}, or a rule of a name gives it."
        raise Invalid(("body", "scopes"), message, "scope_not_held")
    accounts.forget_callers(account_id=account_id)
    narrowed = await store.remove_scopes(conn, account_id=account_id, key_id=key_id, removed=removed)
    if narrowed is None:
        raise KeyNotFound
    about = {"key_id": str(key_id), "label": narrowed.label, "removed": ", ".join(scopes.sort_scopes(removed))}
    action = AuditAction.API_KEY_NARROWED
    await accounts.record_audit(conn, account_id=account_id, actor=actor, action=action, about=about)
    return shown(narrowed)
