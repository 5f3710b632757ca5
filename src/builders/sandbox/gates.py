"""Where those wait whose sandbox is at work: in the process, before they take a connection to wait with.

Each of them would else keep one from the pool, and a client that asks twenty times at once would shut out all
others.
"""

import asyncio
from uuid import UUID
from weakref import WeakValueDictionary

_gates: WeakValueDictionary[tuple[UUID, asyncio.AbstractEventLoop], asyncio.Lock] = WeakValueDictionary()


def gate(account_id: UUID) -> asyncio.Lock:
    """Return the lock of a real account's sandbox, gone when nobody holds it.

    Each event loop has its own; others, and other processes, are met at the database.
    """
    return _gates.setdefault((account_id, asyncio.get_running_loop()), asyncio.Lock())
