"""Sign-up: an address without an account gets a code too, and the first redeemed one opens an account.

Neither an answer nor its time tells which addresses are new. So the job that mails codes counts them. From a
network with too many new addresses, a request gets the usual answer and no message. Above a number in all, a new
address gets a message only if a browser has proved work, which the page then asks for every address.
"""

import hashlib
from datetime import timedelta
from uuid import UUID

from builders.identity import accounts
from builders.identity.errors import AccountNotFound
from builders.identity.store import sessions as store
from builders.kit.db.connections import Conn
from builders.kit.values import clock

WITHIN = timedelta(hours=1)
MAX_OF_NETWORK, MAX_IN_ALL = 5, 1_000  # new addresses
WORK_BITS = 18  # zeros that the hash begins with: some seconds of a browser, for one address
_WORK_S = 600  # the work of this period and of the one before is accepted
_MAX_PROOF = 40  # characters


def work_period() -> int:
    """Return the number that a proof begins with now."""
    return int(clock.now().timestamp()) // _WORK_S


def is_proof(text: str, *, email: str) -> bool:
    """Return whether the text is a proof of work for the address: `PERIOD:NUMBER`, as public.js computes it."""
    period, now = text.partition(":")[0], work_period()
    if len(text) > _MAX_PROOF or period not in {str(now), str(now - 1)}:
        return False
    digest = hashlib.sha256(f"{text}:{email}".encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:4], "big") >> (32 - WORK_BITS) == 0


async def is_busy(conn: Conn) -> bool:
    """Return whether a new address needs a proof of work."""
    _, in_all = await store.count_new_addresses(conn, address="", network="", since=clock.now() - WITHIN)
    return in_all >= MAX_IN_ALL


async def admits(conn: Conn, *, request: store.CodeRequest) -> bool:
    """Return whether a new address gets a code. Locks its network until the transaction ends."""
    network = request.requested_from
    await store.lock_network(conn, network=network)
    of_network, in_all = await store.count_new_addresses(
        conn, address=request.address, network=network, since=clock.now() - WITHIN
    )
    return of_network < MAX_OF_NETWORK and (request.is_proved or in_all < MAX_IN_ALL)


async def open_account(conn: Conn, *, sign_in_id: UUID) -> tuple[UUID, str] | None:
    """Use up the code of a new address, and open its account; return its id and its address.

    None when the code is no longer open. The operator may have created the account since.
    """
    address = await store.claim_new_address(conn, sign_in_id=sign_in_id, now=clock.now())
    if address is None:
        return None
    try:
        account = await accounts.ensure_account(conn, email=address)
    except AccountNotFound:  # the one with this address is being erased
        return None
    return account.id, account.email
