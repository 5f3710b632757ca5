"""Assignment of domains to accounts by the operator, its end, and the list of all domains."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from builders.aliases import account_aliases, billing, claims
from builders.aliases.records import LIVE, AliasFilters
from builders.catalog import availability
from builders.catalog.records import DomainStatus
from builders.domains import account_domains
from builders.domains.errors import DomainInCatalog, DomainLimit, DomainNotFound, DomainNotInCatalog, DomainTaken
from builders.domains.events import DOMAIN_ADDED, DOMAIN_VERIFIED, event_data
from builders.domains.records import (
    MAX_DOMAINS,
    AccountDomain,
    AccountDomainStatus,
    DomainProof,
    DomainSettings,
    DomainSource,
)
from builders.domains.store import domains as store
from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.http.pagination import MAX_LIMIT, PageRequest
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.kit.values.ids import ALL_ACCOUNTS, AccountSelection


async def assign(
    conn: Conn, *, keyring: Keyring, account_id: UUID, domain: str, source: DomainSource
) -> AccountDomain:
    """Make the domain a live domain of a live account, without a proof; a repeat has no effect.

    A domain of the account gets the new source. Publish domain.added, domain.verified. Raise
    Invalid, DomainTaken, DomainLimit, DomainInCatalog, DomainNotInCatalog.
    """
    label = account_domains.parse_domain(domain)
    shared = (await availability.find_domains(conn, domains=[label])).get(label)
    if source is DomainSource.CATALOG and shared is None:
        raise DomainNotInCatalog(f"The catalog has no domain {label}.")
    if source is not DomainSource.CATALOG and shared is not None and shared.status is not DomainStatus.RETIRED:
        raise DomainInCatalog(
            f"{label} is a domain of the catalog, on which all accounts can claim names.",
            next_action="Assign it with --source catalog, or retire it from the catalog first.",
        )
    count = await store.lock_account(conn, account_id=account_id)
    present = await store.find_named(conn, account_id=account_id, domain=label)
    if present is None and count >= MAX_DOMAINS:
        raise DomainLimit(f"An account has up to {MAX_DOMAINS} domains.")
    domain_id = ids.new() if present is None else present.id
    if not await store.set_holder(conn, realm=LIVE, domain=label, account_id=account_id, domain_id=domain_id):
        raise DomainTaken(f"Another account has {label}.", next_action=f"builders domains unassign {label}")
    if present is None:
        token = account_domains.challenge_token(keyring, account_id=account_id, domain=label)
        is_catch_all = source is DomainSource.CATALOG and shared is not None and shared.catch_all
        settings = DomainSettings(catch_all=is_catch_all)
        return await _insert(conn, account_id, domain_id, label, source, token, settings)
    return await _adopt(conn, present, source)


async def _insert(
    conn: Conn,
    account_id: UUID,
    domain_id: UUID,
    domain: str,
    source: DomainSource,
    token: str,
    settings: DomainSettings,
) -> AccountDomain:
    now = clock.now()
    added = await store.insert(
        conn,
        account_id=account_id,
        domain_id=domain_id,
        realm=LIVE,
        domain=domain,
        source=source,
        status=AccountDomainStatus.LIVE,
        proof=DomainProof.OPERATOR,
        token=token,
        settings=settings,
        next_check_at=now,
        now=now,
    )
    if added is None:  # the lock of the account excludes it
        raise DomainTaken(f"Another account has {domain}.")
    await outbox.publish(conn, DOMAIN_ADDED, account_id=account_id, data=event_data(added))
    await outbox.publish(conn, DOMAIN_VERIFIED, account_id=account_id, data=event_data(added))
    return added


async def _adopt(conn: Conn, present: AccountDomain, source: DomainSource) -> AccountDomain:
    if (present.status, present.proof, present.source) == (AccountDomainStatus.LIVE, DomainProof.OPERATOR, source):
        return present
    now = clock.now()
    changed = replace(
        present,
        status=AccountDomainStatus.LIVE,
        source=source,
        proof=DomainProof.OPERATOR,
        lost_at=None,
        next_check_at=now,
    )
    live = await store.set_status(conn, changed=changed, now=now)
    await outbox.publish(conn, DOMAIN_VERIFIED, account_id=present.account_id, data=event_data(live))
    return live


async def unassign(conn: Conn, *, domain: str, with_names: bool = False) -> AccountDomain:
    """Release a domain of any source from the account that holds it. Publish domain.released.

    Raise DomainNotFound when no account holds it, DomainInUse while the account has names on it. `with_names`
    releases the names without a quarantine: the next holder of the domain can claim them immediately.
    """
    label = account_domains.parse_domain(domain)
    held = await store.find_holder(conn, realm=LIVE, domain=label)
    if held is None:
        raise DomainNotFound(f"No account holds {label}.")
    found = await account_domains.get(conn, account_id=held[0], domain_id=held[1], lock=True)
    if found.status is AccountDomainStatus.RELEASED:
        raise DomainNotFound(f"No account holds {label}.")
    if with_names:
        await _release_names(conn, found)
    return await account_domains.release_unused(conn, domain=found, reason="unassigned")


async def _release_names(conn: Conn, domain: AccountDomain) -> None:
    some = PageRequest(limit=MAX_LIMIT, seal=lambda _: "")  # released names are not in the next page
    released: list[UUID] = []
    while True:
        page = await account_aliases.list_owned(
            conn, account_id=domain.account_id, filters=AliasFilters(domain=domain.domain), page=some
        )
        if not page.items:
            break
        versions = {each.alias.id: each.alias.version for each in page.items}
        await claims.release_aliases(
            conn,
            realm=domain.realm,
            account_id=domain.account_id,
            versions=versions,
            quarantine=timedelta(),
        )
        released += versions
    await billing.withdraw_charges(conn, account_id=domain.account_id, alias_ids=released)


async def list_newest(
    conn: Conn,
    *,
    account_id: AccountSelection = ALL_ACCOUNTS,
    status: AccountDomainStatus | None = None,
    limit: int,
) -> Sequence[AccountDomain]:
    """Return the newest domains of a live account, or of all live accounts."""
    return await store.list_newest(
        conn, account_id=account_id, status=status, realm=LIVE, before=ids.LAST, limit=limit
    )
