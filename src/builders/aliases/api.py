"""Handlers of /v1/aliases and /v1/aliases/destinations."""

from datetime import timedelta
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Query, Request
from starlette.responses import HTMLResponse, Response

from builders.aliases import billing, claims, confirmations, schemas
from builders.aliases.errors import (
    AliasReleased,
    AliasSuspended,
    ConfirmationTooSoon,
    DestinationNotFound,
)
from builders.aliases.parameters import AliasId, realm_of
from builders.aliases.records import Alias, AliasFilters, AliasStatus, Destination, ResentDestination
from builders.kit.callers import Caller
from builders.kit.db.connections import Pool, Reads, Tx
from builders.kit.effects import Effect
from builders.kit.errors import TokenInvalid, problems
from builders.kit.http import forms
from builders.kit.http.bodies import ReplyWithHeaders
from builders.kit.http.callers import needs
from builders.kit.http.dependencies import KeyringDep, SettingsDep
from builders.kit.http.etags import WITH_ETAG, IfMatch, with_etag
from builders.kit.http.forms import FormToken
from builders.kit.http.pagination import PageQuery, PageReply
from builders.kit.http.routes import LINK, Router
from builders.kit.http.visitors import CHANGES_STATE
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.kit.pages import Page
from builders.kit.values.domain_names import find_a_label
from builders.mail.link_pages import LinkPages

destinations_router = Router(prefix="/v1/aliases/destinations", tags=["aliases"], beyond=True)
router = Router(prefix="/v1/aliases", tags=["aliases"], beyond=True)
for _other in ("names", "addresses", "mailboxes"):
    router.suggest(f"/v1/{_other}", meant="")
Reader = Annotated[Caller, needs("aliases:read")]
Writer = Annotated[
    Caller,
    needs(
        "aliases:write",
        effect=Effect.OUTWARD,
        support=schemas.SUPPORT_MEMBERS,
        plannable=True,
        checks_target=True,
    ),
]
Releaser = Annotated[Caller, needs("aliases:write", effect=Effect.DELETE, plannable=True, checks_target=True)]
# A support session can send another confirmation, but cannot change the destination.
Resender = Annotated[Caller, needs("aliases:write", effect=Effect.WRITE, support=("email",))]
router.refuse(
    "POST",
    "",
    remedy=(
        "To claim names, plan a manifest with POST /v1/sandbox/plan, then promote the plan with POST "
        "/v1/sandbox/promote, its id, its digest and a live key."
    ),
)


def _question(address: str) -> tuple[str, list[str], str]:
    paragraphs = [
        f"Someone requested to forward mail to {address}.",
        "If you do not want this, close this page. You will receive no mail.",
    ]
    return "Allow mail to be forwarded to you", paragraphs, "Allow forwarding"


_PAGES = LinkPages(
    action="/v1/aliases/destinations/confirm/page",
    find=confirmations.find_unconfirmed,
    question=_question,
    confirm=confirmations.confirm_destination,
    reply=schemas.DestinationConfirmed.from_record,
    hint="Ask the owner of the name for a new link.",
)
# Besides the limits of each address, which the database counts.
RESEND = declare(
    Policy(name="destinations", quota=30, window_s=600, by="account", counts="Requests for another confirmation.")
)


@router.get("", response_model=PageReply[Alias])
async def list_aliases(
    caller: Reader,
    conn: Reads,
    page: PageQuery,
    domain: Annotated[str | None, Query(max_length=253, description="Domain in Unicode or as an A-label.")] = None,
    status: Annotated[
        Literal["active", "disabled", "suspended", "deleted"] | None,
        Query(description="By default all except `deleted`."),
    ] = None,
    project_id: Annotated[UUID | None, Query(description="Only names of this project.")] = None,
    manifest: Annotated[
        str | None, Query(max_length=63, description="Only names that this manifest manages.")
    ] = None,
    q: Annotated[str | None, Query(max_length=320, description="Beginning of the address.")] = None,
) -> Page[Alias]:
    """List the account's names, newest first. With a test key, list the names of its sandbox."""
    filters = AliasFilters(
        domain=domain and (find_a_label(domain) or domain),
        status=AliasStatus(status) if status else None,
        project_id=project_id,
        manifest=manifest,
        q=q and q.strip().lower(),
    )
    return await claims.list_owned(
        conn, realm=realm_of(caller), account_id=caller.account_id, filters=filters, page=page
    )


# No 304: a confirmation changes the reply but not the version, which counts the changes of the owner.
@router.get("/{alias_id}", response_model=Alias, responses=WITH_ETAG)
async def get(alias_id: AliasId, caller: Reader, conn: Reads) -> ReplyWithHeaders:
    """Read a name, active or released."""
    found = await claims.get_alias(conn, realm=realm_of(caller), account_id=caller.account_id, alias_id=alias_id)
    return _tagged(found)


@router.patch(
    "/{alias_id}", response_model=schemas.AliasWritten, responses=problems(AliasSuspended, AliasReleased)
)
async def change(
    alias_id: AliasId, body: schemas.AliasUpdate, caller: Writer, conn: Tx, if_match: IfMatch
) -> ReplyWithHeaders:
    """Change the destinations or other members of a name by a merge patch. The rules of manifests apply."""
    changed = await claims.update_alias(
        conn,
        realm=realm_of(caller),
        account_id=caller.account_id,
        alias_id=alias_id,
        actor=caller.actor,
        expected=if_match,
        patch=body.values(),
        mandate=caller.mandate,
    )
    return _tagged(changed)


@router.delete("/{alias_id}", response_model=schemas.AliasRelease, responses=problems(AliasSuspended))
async def release(
    alias_id: AliasId, caller: Releaser, conn: Tx, settings: SettingsDep, if_match: IfMatch
) -> ReplyWithHeaders:
    """Release a name: during its quarantine only you can claim it again. A repeated request has no effect.

    A release soon after the claim cancels the claim and its charge, once for each name. A later release does not
    refund the paid period, in which you can claim the name again without charge. `charges` has the outcome of each
    charge. A name that the operator suspended cannot be released.
    """
    released = await claims.release_alias(
        conn,
        realm=realm_of(caller),
        account_id=caller.account_id,
        alias_id=alias_id,
        actor=caller.actor,
        expected=if_match,
        quarantine=timedelta(days=settings.quarantine_days),
        cooling_off=timedelta(hours=settings.cooling_off_hours),
        mandate=caller.mandate,
    )
    terms = await billing.get_released_terms(conn, account_id=caller.account_id, alias=released)
    return _tagged(schemas.release_of(released, terms))


@destinations_router.get("", response_model=PageReply[Destination])
async def list_destinations(
    caller: Reader, conn: Reads, page: PageQuery, settings: SettingsDep
) -> Page[Destination]:
    """List the present and former destinations of the account's names, and whether their recipients confirmed."""
    quota = settings.confirmations_per_day
    return await confirmations.list_destinations(conn, account_id=caller.account_id, page=page, quota=quota)


@destinations_router.post(
    "/resend",
    response_model=schemas.DestinationResent,
    responses=problems(DestinationNotFound, ConfirmationTooSoon),
    dependencies=[rate_limit(RESEND)],
)
async def resend_confirmation(
    body: schemas.DestinationResend, caller: Resender, conn: Tx, settings: SettingsDep
) -> ResentDestination:
    """Send another confirmation to a destination, unless its recipient has confirmed."""
    return await confirmations.resend_confirmation(
        conn, account_id=caller.account_id, email=body.email, quota=settings.confirmations_per_day
    )


@destinations_router.get(
    "/confirm",
    response_model=schemas.DestinationConfirmed,
    responses=problems(TokenInvalid),
    dependencies=[CHANGES_STATE, LINK],
)
async def confirm_destination(
    request: Request,
    token: Annotated[str, Query(min_length=8, description="The token of the emailed link.")],
    database: Pool,
    keys: KeyringDep,
) -> ReplyWithHeaders | Response:
    """Public confirm link of a destination: its recipient agrees to receive mail.

    `Accept: application/json` confirms at once. Otherwise, the response is a page with a button that confirms,
    because mail scanners also follow links.
    """
    return await _PAGES.show(request, database, keys, token)


@destinations_router.post(
    "/confirm/page",
    response_class=HTMLResponse,
    response_model=None,
    responses=problems(TokenInvalid),
    openapi_extra=dict(forms.TOKEN_FORM_BODY),
)
async def confirm_destination_page(
    request: Request, token: FormToken, database: Pool, keys: KeyringDep
) -> ReplyWithHeaders | Response:
    """Confirm a destination with the button of the link's page. The token is the only credential."""
    return await _PAGES.press(request, database, keys, token)


def _tagged(alias: Alias) -> ReplyWithHeaders:
    return with_etag(alias, of=alias.id, version=alias.version)
