"""The domains of an account: add, read, list, change, release."""

from base64 import b32encode
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from builders.aliases import account_aliases, claims
from builders.aliases.records import LIVE
from builders.catalog import availability
from builders.domains.bulk import with_catalog_rules
from builders.domains.errors import (
    DomainExists,
    DomainInCatalog,
    DomainInUse,
    DomainLimit,
    DomainNotFound,
    DomainReleased,
)
from builders.domains.events import DOMAIN_ADDED, DOMAIN_RELEASED, DOMAIN_UPDATED, event_data, loss_data
from builders.domains.records import (
    CHALLENGE_LABEL,
    FIRST_CHECK,
    MAX_DOMAINS,
    AccountDomain,
    AccountDomainStatus,
    DomainDetails,
    DomainPatch,
    DomainProof,
    DomainSettings,
    DomainSource,
)
from builders.domains.store import domains as store
from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid
from builders.kit.events import outbox
from builders.kit.http.callers import Actor, ImpersonationForbidden
from builders.kit.http.etags import WriteCondition
from builders.kit.http.pagination import Page, PageRequest
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.kit.values.domain_names import MAX_OCTETS, find_a_label, is_special_use
from builders.kit.values.patches import set_members

_MAX_LENGTH = MAX_OCTETS - len(CHALLENGE_LABEL) - 1  # of a domain below which the challenge label fits
_TOKEN_BYTES = 20


def realm_of(account_id: UUID, *, is_live: bool) -> UUID:
    """Return the realm in which a domain has one holder: each sandbox account has its own."""
    return LIVE if is_live else account_id


async def add(
    conn: Conn,
    *,
    keyring: Keyring,
    account_id: UUID,
    realm: UUID,
    actor: Actor,
    domain: str,
    settings: DomainSettings,
    max_domains: int = MAX_DOMAINS,
) -> DomainDetails:
    """Add a pending domain; publish domain.added. Other accounts with the domain are not disclosed.

    Raise Invalid, DomainExists, DomainInCatalog, DomainLimit, and ImpersonationForbidden for a support session
    that sets a destination.
    """
    label = parse_domain(domain)
    validate_settings(label, settings)
    await _refuse_catalog_domain(conn, label)
    if await store.lock_account(conn, account_id=account_id) >= max_domains:
        message = f"An account has up to {max_domains} domains."
        raise DomainLimit(message)
    if settings.default_destination is not None:
        _refuse_support(actor)
    is_live, now = realm == LIVE, clock.now()
    added = await store.insert(
        conn,
        account_id=account_id,
        domain_id=ids.new(),
        realm=realm,
        domain=label,
        source=DomainSource.OWNED,
        status=AccountDomainStatus.PENDING,
        proof=DomainProof.DNS if is_live else DomainProof.SANDBOX,
        token=challenge_token(keyring, account_id=account_id, domain=label),
        settings=settings,
        next_check_at=now + FIRST_CHECK if is_live else None,
        now=now,
    )
    if added is None:
        raise DomainExists(f"The account has {label} already.")
    await outbox.publish(conn, DOMAIN_ADDED, account_id=account_id, data=event_data(added))
    return await with_details(conn, domain=added)


async def _refuse_catalog_domain(conn: Conn, domain: str) -> None:
    if await availability.find_domains(conn, domains=[domain]):
        raise DomainInCatalog(f"{domain} is a domain of the catalog.")


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


def validate_settings(domain: str, settings: DomainSettings) -> None:
    """Raise Invalid at the members of the body when mail would have no destination, or loop."""
    destination = settings.default_destination
    if settings.catch_all and destination is None:
        message = "A catch-all domain requires a default_destination."
        raise Invalid(("body", "default_destination"), message, "destination_missing")
    if destination is not None and destination.rpartition("@")[2] == domain:
        message = "The destination of the domain cannot be on the same domain."
        raise Invalid(("body", "default_destination"), message, "destination_loop")


def _refuse_support(actor: Actor) -> None:
    if actor.type == "support":  # the recipient of a domain's mail gets access to more than the domain
        raise ImpersonationForbidden("A support session cannot change the settings of domains.")


async def get(conn: Conn, *, account_id: UUID, domain_id: UUID, lock: bool = False) -> AccountDomain:
    """Return a domain of the account, also a released one. Raise DomainNotFound."""
    found = await store.find(conn, account_id=account_id, domain_id=domain_id, lock=lock)
    if found is None:
        raise DomainNotFound
    return found


async def get_domain(conn: Conn, *, account_id: UUID, domain_id: UUID) -> DomainDetails:
    """Return a domain of the account with its details, also a released one. Raise DomainNotFound."""
    return await with_details(conn, domain=await get(conn, account_id=account_id, domain_id=domain_id))


async def with_details(conn: Conn, *, domain: AccountDomain) -> DomainDetails:
    """Return the domain with its rules and the number of its names."""
    [found] = await _with_details(conn, domain.account_id, [domain])
    return found


async def _with_details(conn: Conn, account_id: UUID, domains: Sequence[AccountDomain]) -> list[DomainDetails]:
    counts = await account_aliases.count_by_domain(
        conn, account_id=account_id, domains=[each.domain for each in domains]
    )
    with_rules = await with_catalog_rules(conn, domains=domains)
    return [DomainDetails(domain=each, alias_count=counts[each.domain]) for each in with_rules]


async def list_domains(conn: Conn, *, account_id: UUID, page: PageRequest) -> Page[DomainDetails]:
    """Return the account's domains by name, without released ones. Three statements."""
    after = str(page.after[0]) if page.after else ""
    rows = await store.list_page(conn, account_id=account_id, after=after, limit=page.limit + 1)
    cut = page.cut(rows, lambda each: [each.domain])
    return Page(items=await _with_details(conn, account_id, cut.items), next_cursor=cut.next_cursor)


async def change(
    conn: Conn,
    *,
    account_id: UUID,
    domain_id: UUID,
    actor: Actor,
    expected: WriteCondition,
    patch: DomainPatch,
) -> DomainDetails:
    """Change the settings of a domain; publish domain.updated.

    Raise DomainNotFound, DomainReleased, VersionMismatch, Invalid at the members of the body, and
    ImpersonationForbidden for a support session.
    """
    before = await get(conn, account_id=account_id, domain_id=domain_id, lock=True)
    if before.status is AccountDomainStatus.RELEASED:
        raise DomainReleased(f"{before.domain} was released.")
    expected.check(of=before.id, version=before.version)
    settings = DomainSettings(**before.settings() | set_members(patch))
    if settings.settings() == before.settings():
        return await with_details(conn, domain=before)
    _refuse_support(actor)
    validate_settings(before.domain, settings)
    after = await store.change(
        conn, account_id=account_id, domain_id=before.id, settings=settings, now=clock.now()
    )
    await outbox.publish(conn, DOMAIN_UPDATED, account_id=account_id, data=event_data(after))
    return await with_details(conn, domain=after)


async def release(
    conn: Conn, *, account_id: UUID, domain_id: UUID, actor: Actor, expected: WriteCondition
) -> DomainDetails:
    """Release a domain; a repeat changes nothing. Publish domain.released.

    Raise DomainNotFound, VersionMismatch, DomainInUse while the account has names on it, and
    ImpersonationForbidden for a support session.
    """
    before = await get(conn, account_id=account_id, domain_id=domain_id, lock=True)
    if before.status is AccountDomainStatus.RELEASED:
        return await with_details(conn, domain=before)
    expected.check(of=before.id, version=before.version)
    if actor.type == "support":
        raise ImpersonationForbidden("A support session cannot release domains.")
    return await with_details(conn, domain=await release_unused(conn, domain=before, reason="released"))


async def release_unused(conn: Conn, *, domain: AccountDomain, reason: str) -> AccountDomain:
    """Release a locked domain without names. Raise DomainInUse."""
    counts = await account_aliases.count_by_domain(conn, account_id=domain.account_id, domains=[domain.domain])
    if count := counts[domain.domain]:
        raise DomainInUse(
            f"{count} names on {domain.domain} are still claimed.",
            alias_count=count,
        )
    return await release_locked(conn, domain=domain, reason=reason)


async def release_locked(conn: Conn, *, domain: AccountDomain, reason: str) -> AccountDomain:
    """Release a locked domain, with or without names on it; publish domain.released."""
    owner = domain.account_id
    await store.delete_holder(conn, realm=domain.realm, domain=domain.domain, account_id=owner)
    if domain.source is not DomainSource.CATALOG:  # the next holder of the domain can claim all names on it
        await claims.expire_reservations(conn, realm=domain.realm, domain=domain.domain, account_id=owner)
    changed = replace(domain, status=AccountDomainStatus.RELEASED, next_check_at=None)
    after = await store.set_status(conn, changed=changed, now=clock.now())
    await outbox.publish(conn, DOMAIN_RELEASED, account_id=domain.account_id, data=loss_data(after, reason))
    return after
