"""What a mail server is told: a table with exactly the answers of the look-up server (decision 0057).

It has rows of live names, of the domains whose mail the service receives, and of reverse addresses. The
transaction that changes an answer calls a function of this module, after it has changed the tables that own the
facts.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import LiteralString
from uuid import UUID

from pydantic_core import to_json

from builders.aliases.records import Name, Route, SeparatorPolicy
from builders.aliases.store import lookups as store
from builders.identity import accounts
from builders.kit.db.connections import Conn

TABLE = "aliases_lookups"
# Its columns but `paused_at`.
TOLD: Sequence[LiteralString] = (
    *("domain", "name", "account_id", "is_shared", "separator_policy", "leads_to", "alias_id", "is_claimed"),
    *("block", "reverse_of", "pause_until", "replies", "receives", "destinations", "unconfirmed_since"),
    "paused_since",
)


async def write_names(conn: Conn, *, account_id: UUID, alias_ids: Collection[UUID]) -> None:
    """Write what is told of names, whose aliases the caller has locked; nothing of a sandbox."""
    if alias_ids and await _is_live(conn, account_id):
        await store.write_names(conn, account_id=account_id, alias_ids=alias_ids)


async def _is_live(conn: Conn, account_id: UUID) -> bool:
    real = await accounts.load_real_accounts(conn, account_ids=[account_id])
    return real.get(account_id) == account_id


async def write_destinations(
    conn: Conn, *, account_id: UUID, emails: Collection[str], alias_ids: Collection[UUID]
) -> None:
    """Write what is told after a change of destinations: of these names, and of the catch-alls that lead there."""
    await write_names(conn, account_id=account_id, alias_ids=alias_ids)
    if domains := await store.lock_catch_alls(conn, account_id=account_id, emails=emails):
        await write_catch_alls(conn, account_id=account_id, domains=domains)


async def write_catch_alls(conn: Conn, *, account_id: UUID, domains: Collection[str]) -> None:
    """Write where the mail to all other names of domains goes, of those that the account holds."""
    found = await store.load_catch_alls(conn, account_id=account_id, domains=domains)
    rows = to_json([found.get(domain, {"domain": domain}) for domain in domains]).decode()
    await store.write_catch_alls(conn, account_id=account_id, domains=domains, rows=rows)


async def hold_domain(conn: Conn, *, account_id: UUID, domain: str) -> None:
    """Tell that the service receives the mail of a domain, which a live account holds now."""
    await store.hold(conn, account_id=account_id, domain=domain)


async def let_domain_go(conn: Conn, *, account_id: UUID, domain: str) -> None:
    """Tell that a live account does not hold a domain any more."""
    await store.let_go(conn, account_id=account_id, domain=domain)


async def share_domains(conn: Conn, *, policies: Mapping[str, SeparatorPolicy]) -> None:
    """Tell that the service receives the mail of domains of the catalog, by A-label."""
    if policies:
        await store.share(conn, domains=policies.keys(), policies=policies.values())


async def add_reverse_address(
    conn: Conn, *, account_id: UUID, alias_id: UUID, reverse_of: Name, name: str
) -> None:
    """Tell that a new address on the domain of a name takes replies from it; nothing of a sandbox."""
    if await _is_live(conn, account_id):
        await store.add_reverse_address(
            conn,
            account_id=account_id,
            alias_id=alias_id,
            domain=reverse_of.domain,
            key=reverse_of.key,
            name=name,
        )


async def delete_reverse_addresses(conn: Conn, *, names: Iterable[tuple[str, str]]) -> None:
    """Tell nothing of reverse addresses any more, each a domain and a local part."""
    if gone := sorted(names):
        domains, local_parts = zip(*gone, strict=True)
        await store.delete_reverse_addresses(conn, domains=domains, names=local_parts)


async def list_routes(
    conn: Conn,
    *,
    domains: Sequence[str],
    names: Sequence[str],
    without_dots: Sequence[str],
    bare: Sequence[str],
    entries: Sequence[str],
) -> Mapping[int, Route]:
    """Return what is told of addresses by their places, from 1; nothing of a foreign domain. One statement.

    Each name is also in the forms that ignore separators. Each of `entries` are those of a list that would block a
    sender, with spaces between.
    """
    return await store.list_routes(
        conn, domains=domains, names=names, without_dots=without_dots, bare=bare, entries=entries
    )


async def map_claimed(conn: Conn, *, names: Collection[Name]) -> Mapping[Name, UUID]:
    """Return the aliases of those names that are claimed. One statement."""
    domains, keys = [each.domain for each in names], [each.key for each in names]
    found = await store.list_claimed(conn, domains=domains, names=keys)
    return {Name(domain, key): alias_id for domain, key, alias_id in found}


async def list_domains(conn: Conn) -> Mapping[str, SeparatorPolicy]:
    """Return the domains whose mail the service receives, with the separators that they ignore."""
    return {domain: SeparatorPolicy(policy) for domain, policy, *_ in await store.list_domains(conn)}


async def list_catch_alls(conn: Conn) -> Mapping[str, Sequence[str]]:
    """Return the destinations of the mail to all other names, by domain. None leads to a domain of the service."""
    found = await store.list_domains(conn)
    own = {domain for domain, *_ in found}
    return {
        domain: destinations for domain, _, leads_to, destinations in found if destinations and leads_to not in own
    }
