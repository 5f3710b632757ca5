"""The domains of an account: add, read, list, change, release; many at once for names and manifests.

The operator assigns domains without a proof, and ends that.
"""

from base64 import b32encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from builders.aliases import billing, claims, lookups
from builders.aliases.records import LIVE, AliasFilters
from builders.catalog import availability, snapshot
from builders.catalog.records import DomainStatus, MailMode
from builders.catalog.snapshot import Snapshot
from builders.domains import mail_settings, store
from builders.domains.errors import (
    DomainExists,
    DomainInCatalog,
    DomainInUse,
    DomainLimit,
    DomainNotFound,
    DomainNotInCatalog,
    DomainReleased,
    DomainTaken,
)
from builders.domains.events import (
    DOMAIN_ADDED,
    DOMAIN_RELEASED,
    DOMAIN_UPDATED,
    DOMAIN_VERIFIED,
    event_data,
    loss_data,
)
from builders.domains.records import (
    CHALLENGE_LABEL,
    FIRST_CHECK,
    MAX_DOMAINS,
    AccountDomain,
    AccountDomainStatus,
    Claimable,
    DomainChange,
    DomainProof,
    DomainSettings,
    DomainSource,
)
from builders.identity import accounts
from builders.kit.callers import Actor
from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid
from builders.kit.events import outbox
from builders.kit.http.callers import ImpersonationForbidden
from builders.kit.http.etags import WriteCondition
from builders.kit.http.pagination import MAX_LIMIT, PageRequest
from builders.kit.mandates import Mandate
from builders.kit.pages import Page
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.kit.values.conflicts import KeysTaken, ResourcesChanged
from builders.kit.values.domain_names import MAX_OCTETS, find_a_label, is_special_use
from builders.kit.values.ids import ALL_ACCOUNTS, AccountSelection, selection_parameter

CLAIMABLE_LIMIT = 1_000  # of a page; a catalog of usual size is one page
_MAX_LENGTH = MAX_OCTETS - len(CHALLENGE_LABEL) - 1  # of a domain below which the challenge label fits
_TOKEN_BYTES = 20
_OWN, _CATALOG = "own", "catalog"  # the parts of the list of claimable domains, in its cursors


async def add(
    conn: Conn,
    *,
    keyring: Keyring,
    account_id: UUID,
    is_live: bool,
    actor: Actor,
    domain: str,
    settings: DomainSettings,
    max_domains: int = MAX_DOMAINS,
    mandate: Mandate | None = None,
) -> AccountDomain:
    """Add a pending domain; publish domain.added. Other accounts with the domain are not disclosed.

    Each sandbox account has a realm of its own, in which a domain has one holder. Raise Invalid, DomainExists,
    DomainInCatalog, DomainLimit, ImpersonationForbidden for a support session that sets a destination, and
    MandateExceeded.
    """
    label = parse_domain(domain)
    await mail_settings.validate_change(conn, account_id=account_id, domain=label, mandate=mandate, after=settings)
    if await availability.load_domains(conn, domains=[label]):
        raise DomainInCatalog(f"{label} is a domain of the catalog.")
    await store.lock_account(conn, account_id=account_id)
    if await store.count_domains(conn, account_id=account_id) >= max_domains:
        raise DomainLimit(f"An account has up to {max_domains} domains.")
    if settings.default_destination is not None:
        _refuse_support(actor, "change the settings of domains")
    now = clock.now()
    added = AccountDomain(
        account_id=account_id,
        id=ids.new(),
        realm=LIVE if is_live else account_id,
        domain=label,
        source=DomainSource.OWNED,
        status=AccountDomainStatus.PENDING,
        proof=DomainProof.DNS if is_live else DomainProof.SANDBOX,
        token=challenge_token(keyring, account_id=account_id, domain=label),
        next_check_at=now + FIRST_CHECK if is_live else None,
        added_at=now,
        updated_at=now,
        **settings.settings(),
    )
    if not await store.insert(conn, domain=added):
        raise DomainExists(f"The account has {label} already.")
    await outbox.publish(conn, DOMAIN_ADDED, account_id=account_id, data=event_data(added))
    return await with_details(conn, domain=added)


def parse_domain(text: str) -> str:
    """Return the A-label of a domain in either form. Raise Invalid at the member `domain`."""
    label = find_a_label(text)
    if label is None:
        raise Invalid(("body", "domain"), "Not a domain; send one such as harbour.example.", "domain_name")
    if is_special_use(label):
        raise Invalid(("body", "domain"), "This domain is reserved for special use.", "domain_name")
    if len(label) > _MAX_LENGTH:
        message = f"A domain to be verified has at most {_MAX_LENGTH} characters."
        raise Invalid(("body", "domain"), message, "domain_name")
    return label


def challenge_token(keyring: Keyring, *, account_id: UUID, domain: str) -> str:
    """Return the token of the TXT record: stable for account and domain, and disclosing neither."""
    digest = keyring.hash_token("domains", f"{account_id} {domain}")
    return b32encode(digest[:_TOKEN_BYTES]).decode("ascii").lower()


def _refuse_support(actor: Actor, what: str) -> None:
    if actor.type == "support":  # the recipient of a domain's mail gets access to more than the domain
        raise ImpersonationForbidden(f"A support session cannot {what}.")


async def get(conn: Conn, *, account_id: UUID, domain_id: UUID, lock: bool = False) -> AccountDomain:
    """Return a domain of the account, also a released one. Raise DomainNotFound."""
    found = await (store.lock if lock else store.find)(conn, account_id=account_id, domain_id=domain_id)
    if found is None:
        raise DomainNotFound
    return found


async def with_details(conn: Conn, *, domain: AccountDomain) -> AccountDomain:
    """Return the domain with its rules and the number of its names."""
    [found] = await _with_details(conn, domain.account_id, [domain])
    return found


async def _with_details(conn: Conn, account_id: UUID, domains: Sequence[AccountDomain]) -> list[AccountDomain]:
    names = [each.domain for each in domains]
    counts = await claims.count_by_domain(conn, account_id=account_id, domains=names)
    with_rules = await _with_rules(conn, domains)
    return [replace(each, alias_count=counts[each.domain]) for each in with_rules]


async def _with_rules(conn: Conn, domains: Sequence[AccountDomain]) -> list[AccountDomain]:
    """Return the domains, each with the rules of the catalog if it is there too: one name must have one key."""
    shared = await availability.load_domains(conn, domains=[each.domain for each in domains]) if domains else {}
    return [replace(each, rules=shared[each.domain].rules) if each.domain in shared else each for each in domains]


async def list_domains(
    conn: Conn, *, account_id: UUID, page: PageRequest, containing: str = ""
) -> Page[AccountDomain]:
    """Return the account's domains by name, without released ones. Three statements.

    Only those whose name contains the text, which is in lower case.
    """
    after = str(page.after[0]) if page.after else ""
    rows = await store.list_page(conn, account_id=account_id, after=after, limit=page.limit + 1, q=containing)
    cut = page.cut(rows, lambda each: [each.domain])
    return Page(items=await _with_details(conn, account_id, cut.items), next_cursor=cut.next_cursor)


async def list_claimable(conn: Conn, *, current: Snapshot, account_id: UUID, page: PageRequest) -> Page[Claimable]:
    """Return own live domains by name, then live ones of the catalog by rank; no catch-all, and none twice.

    Two statements; the catalog is in memory.
    """
    # Sorted here, in the order by which the cursor is compared: the collation of a database can differ.
    listed = sorted(await store.list_claimable(conn, account_id=account_id), key=lambda each: each.domain)
    own = await _with_rules(conn, listed)
    source, *after = page.after or (_OWN, "")
    found = [
        Claimable(domain=each.domain, source="account", mail_mode=MailMode.BOTH, rules=each.rules)
        for each in own
        if source == _OWN and each.domain > str(after[0])
    ]
    shared = snapshot.list_claimable(
        current,
        after=after if source == _CATALOG else None,
        without={each.domain for each in own},
        limit=max(page.limit + 1 - len(found), 0),
    )
    found += (
        Claimable(
            domain=each.domain,
            source="catalog",
            mail_mode=each.mail_mode,
            categories=each.categories,
            price=each.price,
            rules=each.rules,
            rank=each.rank,
        )
        for each in shared
    )
    return page.cut(
        found[: page.limit + 1],
        lambda each: [_OWN, each.domain] if each.source == "account" else [_CATALOG, 0, -each.rank, each.domain],
    )


async def change(
    conn: Conn,
    *,
    account_id: UUID,
    domain_id: UUID,
    actor: Actor,
    expected: WriteCondition,
    patch: Mapping[str, Any],
    mandate: Mandate | None = None,
) -> AccountDomain:
    """Change the settings of a domain; publish domain.updated.

    Raise DomainNotFound, DomainReleased, VersionMismatch, Invalid at the members of the body,
    ImpersonationForbidden for a support session, and MandateExceeded.
    """
    before = await get(conn, account_id=account_id, domain_id=domain_id, lock=True)
    if before.status is AccountDomainStatus.RELEASED:
        raise DomainReleased(f"{before.domain} was released.")
    expected.check(of=before.id, version=before.version)
    after = replace(before, **patch)
    if mandate is not None:
        mandate.require_project(None)
    if after != before:
        _refuse_support(actor, "change the settings of domains")
        await mail_settings.validate_change(
            conn, domain=after.domain, account_id=account_id, mandate=mandate, before=before, after=after
        )
        after = replace(after, updated_at=clock.now(), version=before.version + 1)
        await store.update(conn, account_id=account_id, domains=[after])
        await mail_settings.apply(conn, account_id=account_id, domains=[after])
        await outbox.publish(conn, DOMAIN_UPDATED, account_id=account_id, data=event_data(after))
    return await with_details(conn, domain=after)


async def set_status(
    conn: Conn, *, domain: AccountDomain, status: AccountDomainStatus, **changes: Any
) -> AccountDomain:
    """Write the status and other changes of a locked domain; return it. No manifest manages a released one."""
    now = clock.now()
    if status is AccountDomainStatus.RELEASED:
        changes |= {"manifest": None, "manifest_key": None, "next_check_at": None}
    changed = replace(
        domain,
        status=status,
        verified_at=now if status is AccountDomainStatus.LIVE else domain.verified_at,
        suspended_at=now if status is AccountDomainStatus.SUSPENDED else None,
        released_at=now if status is AccountDomainStatus.RELEASED else None,
        checks=0,
        updated_at=now,
        version=domain.version + 1,
        **changes,
    )
    await store.update(conn, account_id=domain.account_id, domains=[changed])
    await mail_settings.apply(conn, account_id=domain.account_id, domains=[changed])
    return changed


async def set_holder(conn: Conn, *, realm: UUID, domain: str, account_id: UUID, domain_id: UUID) -> bool:
    """Make an account the holder of a domain in a realm; return False if another account is."""
    is_set = await store.set_holder(conn, realm=realm, domain=domain, account_id=account_id, domain_id=domain_id)
    if is_set and realm == LIVE:
        await lookups.hold_domain(conn, account_id=account_id, domain=domain)
    return is_set


async def release(
    conn: Conn, *, account_id: UUID, domain_id: UUID, actor: Actor, expected: WriteCondition
) -> AccountDomain:
    """Release a domain; a repeat changes nothing. Publish domain.released.

    Raise DomainNotFound, VersionMismatch, DomainInUse while the account has names on it, and
    ImpersonationForbidden for a support session.
    """
    domain = await get(conn, account_id=account_id, domain_id=domain_id, lock=True)
    if domain.status is not AccountDomainStatus.RELEASED:
        expected.check(of=domain.id, version=domain.version)
        _refuse_support(actor, "release domains")
        domain = await release_unused(conn, domain=domain, reason="released")
    return await with_details(conn, domain=domain)


async def release_unused(conn: Conn, *, domain: AccountDomain, reason: str) -> AccountDomain:
    """Release a locked domain without names; publish domain.released. Raise DomainInUse."""
    owner = domain.account_id
    counts = await claims.count_by_domain(conn, account_id=owner, domains=[domain.domain])
    if count := counts[domain.domain]:
        raise DomainInUse(f"{count} names on {domain.domain} are still claimed.", alias_count=count)
    await store.delete_holder(conn, realm=domain.realm, domain=domain.domain, account_id=owner)
    if domain.realm == LIVE:
        await lookups.let_domain_go(conn, account_id=owner, domain=domain.domain)
    if domain.source is not DomainSource.CATALOG:  # the next holder of the domain can claim all names on it
        await claims.expire_reservations(conn, realm=domain.realm, domain=domain.domain, account_id=owner)
    after = await set_status(conn, domain=domain, status=AccountDomainStatus.RELEASED)
    await outbox.publish(conn, DOMAIN_RELEASED, account_id=owner, data=loss_data(after, reason))
    return after


async def load_domains(
    conn: Conn, *, account_id: UUID, domains: Iterable[str], manifest: str | None = None, lock: bool = False
) -> dict[str, AccountDomain]:
    """Return the account's live domains among these A-labels, by name, with the rules of their names.

    With `manifest` also the live domains that it manages. The account can have names on an `claimable` domain
    only; they are free of charge. `lock` prevents changes of the domains until the transaction ends, for a claim
    of names on them. At most two statements.
    """
    wanted = sorted(set(domains))
    if not wanted and manifest is None:
        return {}
    found = await (store.lock_live if lock else store.list_live)(
        conn, account_id=account_id, domains=wanted, manifest=manifest
    )
    return {each.domain: each for each in await _with_rules(conn, found)}


async def update_many(conn: Conn, *, account_id: UUID, changes: Sequence[DomainChange]) -> None:
    """Change domains that still have their version, all or none; publish domain.updated for each.

    One call can swap keys of a manifest. Raise ResourcesChanged, and KeysTaken when a key belongs to a domain
    without a change. The caller ensures that a catch-all has a destination.
    """
    if not changes:
        return
    wanted, now = {each.id: each for each in changes}, clock.now()
    versions = {each.id: each.version for each in changes}
    locked = await store.lock_unchanged(
        conn, account_id=account_id, domain_ids=versions, versions=versions.values()
    )
    if changed := wanted.keys() - {each.id for each in locked}:
        raise ResourcesChanged(changed)
    after = [
        replace(
            each,
            manifest=wanted[each.id].manifest,
            manifest_key=wanted[each.id].manifest_key,
            updated_at=now,
            version=each.version + 1,
            **wanted[each.id].settings(),
        )
        for each in locked
    ]
    if taken := await store.list_taken_keys(conn, account_id=account_id, domains=after):
        raise KeysTaken(taken)
    await store.update(conn, account_id=account_id, domains=after)
    await mail_settings.apply(conn, account_id=account_id, domains=after)
    await outbox.publish_many(conn, DOMAIN_UPDATED, [(account_id, event_data(each)) for each in after])


async def clear(conn: Conn, *, account_id: UUID) -> int:
    """Delete all domains of a sandbox account without events; return their number.

    Raise ValueError for a live account.
    """
    await accounts.require_sandbox_account(conn, account_id=account_id)
    return await store.clear(conn, account_id=account_id)


async def assign(
    conn: Conn, *, keyring: Keyring, account_id: UUID, domain: str, source: DomainSource
) -> AccountDomain:
    """Make the domain a live domain of a live account, without a proof; a repeat has no effect.

    A domain of the account gets the new source. Publish domain.added, domain.verified. Raise
    Invalid, DomainTaken, DomainLimit, DomainInCatalog, DomainNotInCatalog.
    """
    label = parse_domain(domain)
    is_catch_all = await _is_catch_all(conn, label, source)
    await store.lock_account(conn, account_id=account_id)
    count = await store.count_domains(conn, account_id=account_id)
    present = await store.find_named(conn, account_id=account_id, domain=label)
    if present is None and count >= MAX_DOMAINS:
        raise DomainLimit(f"An account has up to {MAX_DOMAINS} domains.")
    domain_id = ids.new() if present is None else present.id
    if not await set_holder(conn, realm=LIVE, domain=label, account_id=account_id, domain_id=domain_id):
        raise DomainTaken(f"Another account has {label}.", next_action=f"builders domains unassign {label}")
    if present is None:
        token = challenge_token(keyring, account_id=account_id, domain=label)
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
        live = await set_status(
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
    shared = (await availability.load_domains(conn, domains=[domain])).get(domain)
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
    label = parse_domain(domain)
    held = await store.find_holder(conn, realm=LIVE, domain=label)
    if held is None:
        raise DomainNotFound(f"No account holds {label}.")
    found = await get(conn, account_id=held[0], domain_id=held[1], lock=True)
    if found.status is AccountDomainStatus.RELEASED:
        raise DomainNotFound(f"No account holds {label}.")
    some = PageRequest(limit=MAX_LIMIT, seal=lambda _: "")  # released names are not in the next page
    names = AliasFilters(domain=label)
    released: list[UUID] = []
    while with_names:
        page = await claims.list_owned(conn, account_id=found.account_id, filters=names, page=some)
        versions = {each.id: each.version for each in page.items}
        if not versions:
            await billing.withdraw_charges(conn, account_id=found.account_id, alias_ids=released)
            break
        await claims.release_aliases(conn, account_id=found.account_id, versions=versions, quarantine=timedelta())
        released += versions
    return await release_unused(conn, domain=found, reason="unassigned")


async def list_newest(
    conn: Conn,
    *,
    account_id: AccountSelection = ALL_ACCOUNTS,
    status: AccountDomainStatus | None = None,
    limit: int,
) -> Sequence[AccountDomain]:
    """Return the newest domains of a live account, or of all live accounts."""
    return await store.list_newest(
        conn, account_id=selection_parameter(account_id), status=status, realm=LIVE, limit=limit
    )
