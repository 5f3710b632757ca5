"""Assignment of domains to accounts by the operator, its end, and the list of all domains."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from builders.aliases import account_aliases, billing, claims
from builders.aliases.records import LIVE, AliasFilters
from builders.catalog import availability
from builders.catalog.records import DomainStatus
from builders.domains import account_domains, store
from builders.domains.errors import DomainInCatalog, DomainLimit, DomainNotFound, DomainNotInCatalog, DomainTaken
from builders.domains.events import DOMAIN_ADDED, DOMAIN_VERIFIED, event_data
from builders.domains.records import (
    MAX_DOMAINS,
    AccountDomain,
    AccountDomainStatus,
    DomainProof,
    DomainSource,
)
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
    is_catch_all = await _is_catch_all(conn, label, source)
    count = await store.lock_account(conn, account_id=account_id)
    present = await store.find_named(conn, account_id=account_id, domain=label)
    if present is None and count >= MAX_DOMAINS:
        raise DomainLimit(f"An account has up to {MAX_DOMAINS} domains.")
    domain_id = ids.new() if present is None else present.id
    if not await store.set_holder(conn, realm=LIVE, domain=label, account_id=account_id, domain_id=domain_id):
        raise DomainTaken(f"Another account has {label}.", next_action=f"builders domains unassign {label}")
    if present is None:
        token = account_domains.challenge_token(keyring, account_id=account_id, domain=label)
        live = _new_domain(account_id, domain_id, label, source, token, is_catch_all=is_catch_all)
        await store.insert(conn, domain=live)  # the lock of the account excludes another one
        await outbox.publish(conn, DOMAIN_ADDED, account_id=account_id, data=event_data(live))
    elif (present.status, present.proof, present.source) == (
        AccountDomainStatus.LIVE,
        DomainProof.OPERATOR,
        source,
    ):
        return present
    else:
        live = await account_domains.set_status(
            conn,
            domain=present,
            status=AccountDomainStatus.LIVE,
            source=source,
            proof=DomainProof.OPERATOR,
            lost_at=None,
            next_check_at=clock.now(),
        )
    await outbox.publish(conn, DOMAIN_VERIFIED, account_id=account_id, data=event_data(live))
    return live


def _new_domain(
    account_id: UUID, domain_id: UUID, domain: str, source: DomainSource, token: str, *, is_catch_all: bool
) -> AccountDomain:
    now = clock.now()
    return AccountDomain(
        account_id=account_id,
        id=domain_id,
        realm=LIVE,
        domain=domain,
        source=source,
        status=AccountDomainStatus.LIVE,
        proof=DomainProof.OPERATOR,
        token=token,
        next_check_at=now,
        added_at=now,
        verified_at=now,
        updated_at=now,
        catch_all=is_catch_all,
    )


async def _is_catch_all(conn: Conn, domain: str, source: DomainSource) -> bool:
    """Return whether all mail of an assigned domain of the catalog goes to one destination.

    Raise DomainInCatalog, DomainNotInCatalog.
    """
    shared = (await availability.find_domains(conn, domains=[domain])).get(domain)
    if source is DomainSource.CATALOG and shared is None:
        raise DomainNotInCatalog(f"The catalog has no domain {domain}.")
    if source is not DomainSource.CATALOG and shared is not None and shared.status is not DomainStatus.RETIRED:
        raise DomainInCatalog(
            f"{domain} is a domain of the catalog, on which all accounts can claim names.",
            next_action="Assign it with --source catalog, or retire it from the catalog first.",
        )
    return source is DomainSource.CATALOG and shared is not None and shared.catch_all


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
    some = PageRequest(limit=MAX_LIMIT, seal=lambda _: "")  # released names are not in the next page
    names = AliasFilters(domain=label)
    released: list[UUID] = []
    while with_names:
        page = await account_aliases.list_owned(conn, account_id=found.account_id, filters=names, page=some)
        versions = {each.id: each.version for each in page.items}
        if not versions:
            await billing.withdraw_charges(conn, account_id=found.account_id, alias_ids=released)
            break
        await claims.release_aliases(conn, account_id=found.account_id, versions=versions, quarantine=timedelta())
        released += versions
    return await account_domains.release_unused(conn, domain=found, reason="unassigned")


async def list_newest(
    conn: Conn,
    *,
    account_id: AccountSelection = ALL_ACCOUNTS,
    status: AccountDomainStatus | None = None,
    limit: int,
) -> Sequence[AccountDomain]:
    """Return the newest domains of a live account, or of all live accounts."""
    return await store.list_newest(conn, account_id=account_id, status=status, realm=LIVE, limit=limit)
