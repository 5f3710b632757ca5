"""Correspondents: to whom the owner of a name replies, and the reverse address of each.

A reverse address is random (128 bits) and on the domain of its name. What the owner of a destination of the name
sends there goes to the correspondent, as from the name. The correspondent's address is stored sealed, and deleted
90 days after its last use.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from builders.aliases import claims, lookups
from builders.aliases.errors import AliasNotFound
from builders.aliases.records import Alias, AliasStatus
from builders.forwarding import store
from builders.forwarding.errors import CorrespondentLimit, CorrespondentNotFound, RepliesDisabled
from builders.forwarding.filter_addresses import REVERSE, encode
from builders.forwarding.records import Correspondent, ReplyRoute, ShownCorrespondent
from builders.kit.db import account_tables, batches, old_rows, suspensions
from builders.kit.db.connections import Conn, Database
from builders.kit.http.pagination import PageRequest
from builders.kit.limits import maximums
from builders.kit.pages import Page
from builders.kit.process.secret_keys import Keyring, Resealed, Unsealable
from builders.kit.values import clock, ids
from builders.kit.values.resources import extended
from builders.mail.addresses import normal

MAX_CORRESPONDENTS = maximums.declare(
    "correspondents",
    10_000,
    of="account",
    counts="Correspondents of names with `reply`. Mail of further ones is forwarded without a reverse address.",
    code="correspondent_limit",
)
MAX_REPLIES = maximums.declare_delayed(
    "replies", 200, of="account", counts="Replies from names on a day; further ones wait with their sender."
)
RETENTION = timedelta(days=90)  # after the last use
PRUNE_BATCH = 1_000
old_rows.declare("forwarding_reply_days", key="account_id, day", age="day", after=RETENTION.days)
RESEAL_BATCH = 200
_PURPOSE = "forwarding/correspondents"
_RANDOM_BYTES = 16


async def add(
    conn: Conn, *, keyring: Keyring, realm: UUID, account_id: UUID, alias_id: UUID, address: str
) -> ShownCorrespondent:
    """Return the correspondent of a name, added unless it exists.

    Raise AliasNotFound, RepliesDisabled and CorrespondentLimit.
    """
    alias = await claims.get_alias(conn, realm=realm, account_id=account_id, alias_id=alias_id)
    if not alias.reply:
        raise RepliesDisabled
    found = await find_or_add(conn, keyring=keyring, account_id=account_id, alias=alias, address=address)
    if found is None:
        raise CorrespondentLimit(f"The account has {MAX_CORRESPONDENTS:,} correspondents.")
    return _show(keyring, found, alias.domain)


async def find_or_add(
    conn: Conn, *, keyring: Keyring, account_id: UUID, alias: Alias, address: str
) -> Correspondent | None:
    """Return the correspondent of a name, added unless it exists; None above the maximum."""
    name = f"r-{encode(os.urandom(_RANDOM_BYTES))}"
    found = await store.add_correspondent(
        conn,
        account_id=account_id,
        id=ids.new(),
        alias_id=alias.id,
        domain=alias.domain,
        name=name,
        digest=keyring.hash_token(_PURPOSE, normal(address)),
        address=keyring.seal(_PURPOSE, address.encode(), context=_context(account_id, alias.id)),
        now=clock.now(),
        maximum=MAX_CORRESPONDENTS,
    )
    if found is not None and found.name == name:
        await lookups.add_reverse_address(
            conn, account_id=account_id, alias_id=alias.id, reverse_of=alias.name, name=name
        )
    return found


async def find_route(conn: Conn, *, name: str) -> ReplyRoute | None:
    """Return the correspondent of a reverse address and the name that replies; None if it takes no replies.

    The name is random, so that nobody guesses it.
    """
    owner = await store.find_reverse_name(conn, name=name)
    if owner is None:
        return None
    found = await store.find_correspondent(conn, account_id=owner[0], id=owner[1])
    if found is None:
        return None
    alias = await find_replying(conn, account_id=owner[0], alias_id=found.alias_id)
    if alias is None or await suspensions.find_reason(conn, owner[0]) is not None:
        return None
    return extended(
        ReplyRoute, found, domain=alias.domain, local_part=alias.local_part, destinations=alias.receiving
    )


async def find_replying(conn: Conn, *, account_id: UUID, alias_id: UUID) -> Alias | None:
    """Return a name that takes replies; None if it does not."""
    try:
        alias = await claims.get_alias(conn, account_id=account_id, alias_id=alias_id)
    except AliasNotFound:
        return None
    return alias if alias.status is AliasStatus.ACTIVE and alias.reply else None


async def list_correspondents(
    conn: Conn, *, keyring: Keyring, realm: UUID, account_id: UUID, alias_id: UUID, page: PageRequest
) -> Page[ShownCorrespondent]:
    """Return the correspondents of a name, newest first. Raise AliasNotFound."""
    alias = await claims.get_alias(conn, realm=realm, account_id=account_id, alias_id=alias_id)
    found = await store.list_correspondents(
        conn, account_id=account_id, alias_id=alias_id, before_id=page.before_id, limit=page.limit + 1
    )
    return page.cut([_show(keyring, each, alias.domain) for each in found], lambda each: [str(each.id)])


def _show(keyring: Keyring, found: Correspondent, domain: str) -> ShownCorrespondent:
    return ShownCorrespondent(
        id=found.id,
        email=read_address(keyring, found),
        reverse_address=f"{found.name}@{domain}",
        created_at=found.created_at,
        used_at=found.used_at,
    )


async def delete(conn: Conn, *, realm: UUID, account_id: UUID, alias_id: UUID, correspondent_id: UUID) -> None:
    """Erase a correspondent: its reverse address receives no mail. Raise AliasNotFound, CorrespondentNotFound."""
    await claims.get_alias(conn, realm=realm, account_id=account_id, alias_id=alias_id)
    name = await store.delete_correspondent(conn, account_id=account_id, alias_id=alias_id, id=correspondent_id)
    if name is None:
        raise CorrespondentNotFound
    await _delete_reverse_names(conn, [name])


async def _delete_reverse_names(conn: Conn, names: Sequence[str]) -> None:
    await lookups.delete_reverse_addresses(conn, names=await store.delete_reverse_names(conn, names=names))


def read_address(keyring: Keyring, correspondent: Correspondent) -> str:
    """Return the address of a correspondent. Raise Unsealable."""
    context = _context(correspondent.account_id, correspondent.alias_id)
    return keyring.unseal(_PURPOSE, correspondent.address, context=context).decode()


async def load_addresses(
    conn: Conn, *, keyring: Keyring, route: ReplyRoute, recipients: Collection[str]
) -> Mapping[str, str]:
    """Return the correspondents' addresses by their reverse addresses, those of the name of the route."""
    names = {each.partition("@")[0].lower() for each in recipients}
    found = await store.list_named_correspondents(
        conn,
        account_id=route.account_id,
        alias_id=route.alias_id,
        names=[each for each in names if REVERSE.fullmatch(each)],
    )
    return {f"{each.name}@{route.domain}": read_address(keyring, each) for each in found}


async def count_reply(conn: Conn, *, account_id: UUID) -> bool:
    """Take one of the replies of the day; return whether one was left."""
    return await store.count_reply(conn, account_id=account_id, day=clock.now().date(), maximum=MAX_REPLIES)


async def uncount_reply(conn: Conn, *, account_id: UUID) -> None:
    """Give a reply of the day back, because it was not sent."""
    await store.uncount_reply(conn, account_id=account_id, day=clock.now().date())


async def prune(database: Database) -> None:
    """Delete correspondents that nobody used for 90 days."""
    before = clock.now() - RETENTION
    await batches.repeat(database, partial(_prune, before=before), size=PRUNE_BATCH)


async def _prune(conn: Conn, *, before: datetime) -> int:
    names: list[str] = []
    unused = await store.list_unused_correspondents(conn, before=before, limit=PRUNE_BATCH)
    for account_id, found in batches.by_account(unused):
        names += await store.prune_correspondents(conn, account_id=account_id, ids=found, before=before)
    await _delete_reverse_names(conn, names)
    return len(names)


async def reseal(database: Database, *, keyring: Keyring) -> Resealed:
    """Seal the addresses under the first secret key, in batches. Repeatable; keeps concurrent changes."""
    renewed, lost = 0, 0
    after: tuple[UUID, UUID] | None = (ids.NIL, ids.NIL)
    while after is not None:
        async with database.transaction() as conn:
            batch = await store.list_stale_correspondents(
                conn, header=keyring.seal_header, after_account=after[0], after_id=after[1], limit=RESEAL_BATCH
            )
            done = [await _reseal(conn, keyring, each) for each in batch]
        renewed, lost = renewed + done.count(True), lost + done.count(None)
        after = (batch[-1].account_id, batch[-1].id) if batch else None
    return Resealed(renewed=renewed, lost=lost)


async def _reseal(conn: Conn, keyring: Keyring, old: Correspondent) -> bool | None:
    """Return whether the address was sealed again; None when its secret is missing."""
    try:
        address = read_address(keyring, old)
    except Unsealable:
        return None
    sealed = keyring.seal(_PURPOSE, address.encode(), context=_context(old.account_id, old.alias_id))
    digest = keyring.hash_token(_PURPOSE, normal(address))
    return bool(
        await store.replace_correspondent(
            conn, account_id=old.account_id, id=old.id, address=old.address, sealed=sealed, digest=digest
        )
    )


def _context(account_id: UUID, alias_id: UUID) -> bytes:
    return account_id.bytes + alias_id.bytes


account_tables.declare_sealed(
    "forwarding_correspondents", "address", purpose=_PURPOSE, context=_context, of=("account_id", "alias_id")
)
