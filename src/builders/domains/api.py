"""/v1/domains."""

from dataclasses import replace
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Path, Query, Request

from builders.catalog.snapshot import CatalogCache, Snapshot
from builders.domains import account_domains, schemas, verification
from builders.domains.account_domains import CLAIMABLE_LIMIT
from builders.domains.errors import (
    DomainExists,
    DomainInCatalog,
    DomainInUse,
    DomainLimit,
    DomainNotFound,
    DomainReleased,
    DomainTaken,
)
from builders.domains.records import AccountDomain, Claimable, DomainSettings
from builders.kit.callers import Caller
from builders.kit.db.connections import Pool, Reads, Tx
from builders.kit.effects import Effect
from builders.kit.errors import problems
from builders.kit.http.bodies import ReplyWithHeaders
from builders.kit.http.callers import needs
from builders.kit.http.dependencies import KeyringDep, SettingsDep
from builders.kit.http.etags import WITH_ETAG, IfMatch, with_etag
from builders.kit.http.pagination import PageQuery, PageReply
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.kit.pages import Page
from builders.kit.values.domain_names import find_a_label

router = Router(prefix="/v1/domains", tags=["domains"])
Reader = Annotated[Caller, needs("domains:read")]
Writer = Annotated[Caller, needs("domains:write", effect=Effect.WRITE, support=("domain",), plannable=True)]
# Without support sessions: it changes the destination of mail.
Holder = Annotated[Caller, needs("domains:write", effect=Effect.OUTWARD, plannable=True, checks_target=True)]
Releaser = Annotated[Caller, needs("domains:write", effect=Effect.DELETE, plannable=True)]
Id = Annotated[UUID, Path(alias="id", description="Identifier of the account domain."), ResourceId(DomainNotFound)]
VERIFY = declare(
    Policy(name="domain_verify", quota=60, window_s=600, by="account", counts="Verifications of a domain by DNS.")
)


async def current_catalog(request: Request) -> Snapshot:
    """Return the public catalog from the cache."""
    cache: CatalogCache = request.app.state.catalog
    return await cache.current()


Current = Annotated[Snapshot, Depends(current_catalog)]
Containing = Annotated[
    str | None,
    Query(max_length=320, description="Only domains whose name contains this text, in Unicode or ASCII."),
]


@router.get("", response_model=PageReply[AccountDomain])
async def list_domains(caller: Reader, conn: Reads, page: PageQuery, q: Containing = None) -> Page[AccountDomain]:
    """List the account's domains by name, without released ones."""
    text = (q or "").strip()
    return await account_domains.list_domains(
        conn, account_id=caller.account_id, page=page, containing=find_a_label(text) or text.lower()
    )


@router.get("/claimable", response_model=PageReply[Claimable])
async def list_claimable(
    caller: Reader, conn: Reads, current: Current, page: PageQuery, request: Request
) -> Page[Claimable]:
    """List domains on which names can be claimed: own live ones by name, then live ones of the catalog by rank.

    The list has no catch-all domains and no duplicates. Without `limit`, a page has up to 1,000 domains.
    """
    wanted = page if "limit" in request.query_params else replace(page, limit=CLAIMABLE_LIMIT)
    return await account_domains.list_claimable(conn, current=current, account_id=caller.account_id, page=wanted)


@router.post(
    "",
    status_code=201,
    response_model=schemas.AccountDomainWritten,
    responses=problems(DomainExists, DomainInCatalog, DomainLimit),
    openapi_extra=BEYOND_SPEC,
)
async def add(body: schemas.DomainCreate, caller: Writer, conn: Tx, keyring: KeyringDep) -> AccountDomain:
    """Add a domain to the account; the response has the DNS record that proves the ownership."""
    return await account_domains.add(
        conn,
        keyring=keyring,
        account_id=caller.account_id,
        is_live=caller.is_live,
        actor=caller.actor,
        domain=body.domain,
        settings=DomainSettings(**body.values()),
        mandate=caller.mandate,
    )


# No 304: the DNS health of a domain changes without its version.
@router.get("/{id}", response_model=AccountDomain, responses=WITH_ETAG, openapi_extra=BEYOND_SPEC)
async def get_domain(domain_id: Id, caller: Reader, conn: Reads) -> ReplyWithHeaders:
    """Read a domain of the account, active or released."""
    domain = await account_domains.get(conn, account_id=caller.account_id, domain_id=domain_id)
    found = await account_domains.with_details(conn, domain=domain)
    return with_etag(found, of=found.id, version=found.version)


@router.patch(
    "/{id}",
    response_model=schemas.AccountDomainWritten,
    responses=problems(DomainReleased),
    openapi_extra=BEYOND_SPEC,
)
async def change(
    domain_id: Id, body: schemas.DomainUpdate, caller: Holder, conn: Tx, if_match: IfMatch
) -> ReplyWithHeaders:
    """Change the default destination of a domain, and whether it receives all mail of the domain."""
    changed = await account_domains.change(
        conn,
        account_id=caller.account_id,
        domain_id=domain_id,
        actor=caller.actor,
        expected=if_match,
        patch=body.values(),
        mandate=caller.mandate,
    )
    return with_etag(changed, of=changed.id, version=changed.version)


@router.delete("/{id}", response_model=AccountDomain, responses=problems(DomainInUse), openapi_extra=BEYOND_SPEC)
async def release(domain_id: Id, caller: Releaser, conn: Tx, if_match: IfMatch) -> ReplyWithHeaders:
    """Release a domain without names; a repeated request has no effect."""
    released = await account_domains.release(
        conn, account_id=caller.account_id, domain_id=domain_id, actor=caller.actor, expected=if_match
    )
    return with_etag(released, of=released.id, version=released.version)


@router.post(
    "/{id}/verify",
    responses=problems(DomainReleased, DomainTaken),
    dependencies=[rate_limit(VERIFY)],
    openapi_extra=BEYOND_SPEC,
)
async def verify(
    domain_id: Id, caller: Writer, database: Pool, settings: SettingsDep
) -> schemas.AccountDomainVerified:
    """Check the ownership record and the mail records of a domain in DNS now, and return the result.

    In a sandbox the domain is live at once, without DNS.
    """
    domain, proof = await verification.verify(
        database, settings=settings, account_id=caller.account_id, domain_id=domain_id
    )
    return schemas.verified(domain, proof)
