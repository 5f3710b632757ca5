"""Where those wait whose sandbox is at work: in the process, before they take a connection to wait with.

Each of them would else keep one from the pool, and a client that asks twenty times at once would shut out all
others.
"""

import asyncio
from uuid import UUID
from weakref import WeakValueDictionary

_gates: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()


def gate(account_id: UUID) -> asyncio.Lock:
    """That of a real account's sandbox, gone when nobody is at it. Other processes are met at the database."""
    return _gates.setdefault(account_id, asyncio.Lock())
