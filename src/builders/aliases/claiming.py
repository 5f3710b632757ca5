"""Names are held, claimed, changed and given up: in sets, decided by unique keys."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from psycopg import Rollback

from builders.aliases import forwarding, periods
from builders.aliases.errors import AliasesChanged, KeysTaken, NamesRefused
from builders.aliases.events import ALIAS_CREATED, ALIAS_DELETED, ALIAS_UPDATED, AliasData
from builders.aliases.records import (
    LIVE,
    Alias,
    AliasChange,
    AliasSpec,
    Name,
    NameState,
    Reason,
    Standing,
    Wanted,
)
from builders.aliases.rows import Released
from builders.aliases.store import aliases as store, census, names as registry
from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.values import clock, ids
from builders.mail import service as mail

count_by_domain = census.count_by_domain
PRUNED_AT_ONCE = 1000

_OF_STATE = {
    NameState.CLAIMED: Reason.TAKEN,
    NameState.QUARANTINED: Reason.QUARANTINED,
    NameState.HELD: Reason.HELD,
}


async def look_up(
    conn: Conn, *, realm: UUID, wanted: Sequence[Wanted], account_id: UUID = ids.NIL
) -> dict[Name, Standing]:
    """Why the names that are not free are not; free ones are absent. One statement.

    An account's own holds, quarantines and look-alikes do not count against it; NIL stands for no account.
    """
    found = await registry.look_up(conn, realm=realm, wanted=wanted, now=clock.now())
    standings: dict[Name, Standing] = {}
    for each in found:
        mine = each.account_id == account_id
        if each.state is not None and not (mine and each.state != NameState.CLAIMED):
            reason = _OF_STATE[NameState(each.state)]
            standings[Name(each.domain, each.key)] = Standing(reason=reason, until=each.until)
        elif each.state is None and each.look_account_id != account_id:
            standings[Name(each.domain, each.key)] = Standing(reason=Reason.CONFUSABLE)
    return standings


async def hold(
    conn: Conn, *, realm: UUID = LIVE, account_id: UUID, wanted: Sequence[Wanted], until: datetime
) -> None:
    """Keeps names for the account until a time. Raises NamesRefused, and nothing is held then."""
    await _take(conn, realm=realm, account_id=account_id, wanted=wanted, until=until)


async def let_go(conn: Conn, *, realm: UUID = LIVE, account_id: UUID, names: Sequence[Name]) -> None:
    """Ends the account's holds on names at once; what is claimed or quarantined stays. Can be repeated."""
    await registry.let_go(conn, realm=realm, account_id=account_id, names=names)


async def create(conn: Conn, *, realm: UUID = LIVE, account_id: UUID, specs: Sequence[AliasSpec]) -> None:
    """Claims names, all or none; publishes alias.created for each. A handful of statements for any number.

    Decided by unique keys: of two who claim one name at once, one gets NamesRefused. Raises KeysTaken when a
    manifest key stands for another alias, and PricesChanged unless the specs continue exactly the paid periods
    that go on. Who calls it has the account's routes, and sees to circles (`routing`).
    """
    now = clock.now()
    await periods.check_prices(conn, account_id=account_id, specs=specs)
    wanted = [Wanted(domain=spec.domain, key=spec.key, skeleton=spec.skeleton, alias_id=spec.id) for spec in specs]
    await _take(conn, realm=realm, account_id=account_id, wanted=wanted, until=None)
    await _check_keys(conn, account_id, specs)
    if fresh := [each for each in specs if not each.continues]:
        await store.insert(conn, account_id=account_id, specs=fresh, now=now)
    if continued := [each for each in specs if each.continues]:
        await store.revive(conn, account_id=account_id, specs=continued, now=now)
    await forwarding.replace(conn, account_id=account_id, forwards=specs)
    news = [(account_id, news_of(spec, spec.domain, spec.local_part)) for spec in specs]
    await outbox.publish_many(conn, ALIAS_CREATED, news)


async def update(conn: Conn, *, account_id: UUID, changes: Sequence[AliasChange]) -> None:
    """Changes aliases that still have their version, all or none; publishes alias.updated for each.

    Keys of a manifest can be swapped within one call. Raises KeysTaken when one of them stands for an alias that
    is not among those changed, and AliasesChanged. Who calls it has the account's routes, and sees to circles.
    """
    now = clock.now()
    versions = {change.id: change.version for change in changes}
    await lock_unchanged(conn, account_id=account_id, versions=versions)
    await _check_keys(conn, account_id, changes)
    updated = await store.update(conn, account_id=account_id, changes=changes, now=now)
    await forwarding.replace(conn, account_id=account_id, forwards=changes)
    news = [(account_id, news_of(change, *updated[change.id])) for change in changes]
    await outbox.publish_many(conn, ALIAS_UPDATED, news)


async def release(
    conn: Conn,
    *,
    realm: UUID = LIVE,
    account_id: UUID,
    versions: Mapping[UUID, int],
    quarantine: timedelta,
) -> None:
    """Gives up aliases that still have their version, all or none; publishes alias.deleted for each.

    Only the account can have the names back before the quarantine ends. Who calls it ends its transaction with
    `withdraw_charges`. Raises AliasesChanged.
    """
    now = clock.now()
    await lock_unchanged(conn, account_id=account_id, versions=versions)
    released = await store.release(
        conn, realm=realm, account_id=account_id, alias_ids=list(versions), until=now + quarantine, now=now
    )
    news = [(account_id, news_of(alias, alias.domain, alias.local_part)) for alias in released]
    await outbox.publish_many(conn, ALIAS_DELETED, news)


async def end_kept(conn: Conn, *, realm: UUID, account_id: UUID, domain: str) -> None:
    """Ends the account's holds and quarantines on a domain that is its own no more; what is claimed stays."""
    await registry.end_kept(conn, realm=realm, account_id=account_id, domain=domain, now=clock.now())


async def list_aliases(
    conn: Conn,
    *,
    account_id: UUID,
    manifest: str | None = None,
    names: Sequence[Name] = (),
    alias_ids: Sequence[UUID] = (),
) -> list[Alias]:
    """The account's aliases that a manifest manages, or that have one of the names or ids."""
    return await store.list_aliases(
        conn, account_id=account_id, manifest=manifest, names=names, alias_ids=alias_ids
    )


async def count_by_project(conn: Conn, *, account_id: UUID, project_ids: Collection[UUID]) -> Mapping[UUID, int]:
    """How many aliases each of the projects has, also suspended ones. One statement."""
    return await store.count_by_project(conn, account_id=account_id, project_ids=project_ids)


async def prune(conn: Conn) -> int:
    """Frees names whose hold or quarantine is over, some at a time; their number."""
    return await registry.prune_ended(conn, now=clock.now(), limit=PRUNED_AT_ONCE)


async def _take(
    conn: Conn, *, realm: UUID, account_id: UUID, wanted: Sequence[Wanted], until: datetime | None
) -> None:
    await registry.lock_looks(conn, realm=realm, account_id=account_id, wanted=wanted, now=clock.now())
    refused = {each.name for each in wanted}
    async with conn.transaction():  # a savepoint: a refusal takes back what was taken so far
        refused -= await registry.take(conn, realm=realm, account_id=account_id, wanted=wanted, until=until)
        if refused:
            raise Rollback
    if refused:
        standings = await look_up(conn, realm=realm, wanted=wanted, account_id=account_id)
        raise NamesRefused({name: standings.get(name, Standing(reason=Reason.TAKEN)) for name in refused})


async def _check_keys(conn: Conn, account_id: UUID, wanted: Sequence[AliasSpec | AliasChange]) -> None:
    if taken := await store.list_taken_keys(conn, account_id=account_id, wanted=wanted):
        raise KeysTaken(taken)


async def lock_unchanged(conn: Conn, *, account_id: UUID, versions: Mapping[UUID, int]) -> None:
    """Locks aliases that still have their version, for the transaction, in one order. Raises AliasesChanged."""
    unchanged = await store.lock_unchanged(conn, account_id=account_id, versions=versions)
    if changed := versions.keys() - unchanged:
        raise AliasesChanged(frozenset(changed))


def news_of(alias: AliasSpec | AliasChange | Released, domain: str, local_part: str) -> AliasData:
    """What is told of an alias."""
    return AliasData(
        id=alias.id,
        address=f"{local_part}@{domain}",
        local_part=local_part,
        domain=domain,
        enabled=alias.enabled,
        destinations=[mail.mask(email) for email in alias.destinations],
        manifest=alias.manifest,
        manifest_key=alias.manifest_key,
        project_id=alias.project_id,
    )
