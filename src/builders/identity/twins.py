"""Whose twin an account is: asked for every event that leaves the house, and never changed."""

from collections import OrderedDict
from collections.abc import Collection, Mapping
from uuid import UUID

from builders.identity.store import accounts as store
from builders.kit.db.connections import Conn

REMEMBERED = 10_000  # accounts

_known: OrderedDict[UUID, UUID] = OrderedDict()  # the oldest first


async def real_accounts(conn: Conn, *, account_ids: Collection[UUID]) -> Mapping[UUID, UUID]:
    """The real account of each: of a sandbox twin its owner, of a real one itself. Unknown ones are left out."""
    found = {each: _known[each] for each in account_ids if each in _known}
    missing = set(account_ids) - found.keys()
    if missing:
        read = await store.list_real(conn, account_ids=missing)
        found.update(read)
        _known.update(read)
        while len(_known) > REMEMBERED:
            _known.popitem(last=False)
    return found


async def require_twin(conn: Conn, *, account_id: UUID) -> None:
    """Raises ValueError for all but a sandbox twin: who empties an account of its rows asks here first."""
    real = await real_accounts(conn, account_ids=[account_id])
    if real.get(account_id, account_id) == account_id:
        raise ValueError(f"{account_id} is no sandbox account, and nothing of it is cleared")
