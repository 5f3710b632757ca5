"""/v1/aliases: names, for who has them."""

from datetime import timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Path, Query

from builders.aliases import replies, schemas, service as aliases
from builders.aliases.errors import AliasNotFound, AliasReleased, AliasSuspended
from builders.aliases.records import LIVE, AliasStatus, Filters
from builders.kit.db.connections import Reads, Tx
from builders.kit.errors import problems
from builders.kit.http.bodies import ReplyWithHeaders
from builders.kit.http.callers import Caller, ImpersonationForbidden, needs
from builders.kit.http.dependencies import SettingsDep
from builders.kit.http.etags import READ_RESPONSES, WRITE_RESPONSES, IfMatch, with_etag
from builders.kit.http.pagination import Page, PageQuery, PageReply
from builders.kit.http.resource_ids import ResourceId
from builders.kit.http.routes import Router
from builders.kit.values.domain_names import find_a_label

router = Router(prefix="/v1/aliases", tags=["aliases"], beyond=True)
AliasId = Annotated[UUID, Path(description="Identifier of the alias."), ResourceId(AliasNotFound)]
Reader = Annotated[Caller, needs("aliases:read")]
Writer = Annotated[Caller, needs("aliases:write", support=("enabled", "note", "labels"))]
Releaser = Annotated[Caller, needs("aliases:write")]
router.refuse(
    "POST",
    "",
    remedy="Names are claimed in two steps: POST /v1/sandbox/plan with the names in a manifest, then POST "
    "/v1/sandbox/promote with the plan's id and digest and a live key.",
)
# No 304: whether destinations are verified changes without the version, which is of what the owner says.
TAGGED: dict[int | str, dict[str, Any]] = {200: READ_RESPONSES[200]}


def realm_of(caller: Caller) -> UUID:
    """Where the caller's names are unique."""
    return LIVE if caller.mode == "live" else caller.account_id


@router.get("", response_model=PageReply[replies.AliasReply])
async def list_aliases(
    caller: Reader,
    conn: Reads,
    page: PageQuery,
    domain: Annotated[str | None, Query(max_length=253, description="In either form.")] = None,
    status: Annotated[
        Literal["active", "disabled", "suspended", "deleted"] | None,
        Query(description="All but `deleted` when absent."),
    ] = None,
    project_id: Annotated[UUID | None, Query(description="Only names of this project.")] = None,
    manifest: Annotated[str | None, Query(max_length=63, description="That manages them.")] = None,
    q: Annotated[str | None, Query(max_length=320, description="How the address begins.")] = None,
) -> Page[replies.AliasReply]:
    """List the account's names, newest first. With a test key those of its sandbox."""
    filters = Filters(
        domain=domain and (find_a_label(domain) or domain),
        status=AliasStatus(status) if status else None,
        project_id=project_id,
        manifest=manifest,
        q=q and q.strip().lower(),
    )
    found = await aliases.list_owned(
        conn, realm=realm_of(caller), account_id=caller.account_id, filters=filters, page=page
    )
    return replies.page(found, livemode=caller.mode == "live")


@router.get("/{alias_id}", response_model=replies.AliasReply, responses={**TAGGED, **problems(AliasNotFound)})
async def get(alias_id: AliasId, caller: Reader, conn: Reads) -> ReplyWithHeaders:
    """Read one name, also a released one."""
    found = await aliases.get(conn, realm=realm_of(caller), account_id=caller.account_id, alias_id=alias_id)
    reply = replies.shown(found, livemode=caller.mode == "live")
    return with_etag(reply, of=found.alias.id, version=found.alias.version)


@router.patch(
    "/{alias_id}",
    response_model=replies.AliasWritten,
    responses={
        **WRITE_RESPONSES,
        **problems(AliasNotFound, AliasSuspended, AliasReleased, ImpersonationForbidden),
    },
)
async def change(
    alias_id: AliasId, body: schemas.AliasUpdate, caller: Writer, conn: Tx, if_match: IfMatch
) -> ReplyWithHeaders:
    """Change where a name forwards to, or its other members: a merge patch. The rules are those of a manifest."""
    changed = await aliases.change(
        conn,
        realm=realm_of(caller),
        account_id=caller.account_id,
        alias_id=alias_id,
        actor=caller.actor,
        expected=if_match,
        patch=body.patch(),
    )
    reply = replies.written(changed, livemode=caller.mode == "live")
    return with_etag(reply, of=changed.alias.id, version=changed.alias.version)


@router.delete(
    "/{alias_id}",
    response_model=replies.AliasRelease,
    responses={**WRITE_RESPONSES, **problems(AliasNotFound, AliasSuspended, ImpersonationForbidden)},
)
async def release(
    alias_id: AliasId, caller: Releaser, conn: Tx, settings: SettingsDep, if_match: IfMatch
) -> ReplyWithHeaders:
    """Release a name: for a while only you can claim it again. A second time changes nothing.

    Soon after the claim this undoes it, once for each name: it is not owed. Later the paid period is not refunded;
    claiming the name again within it is free. `charges` says what became of each. A name that the operator
    suspended is not released.
    """
    gone = await aliases.give_up(
        conn,
        realm=realm_of(caller),
        account_id=caller.account_id,
        alias_id=alias_id,
        actor=caller.actor,
        expected=if_match,
        quarantine=timedelta(days=settings.quarantine_days),
        cooling_off=timedelta(hours=settings.cooling_off_hours),
    )
    terms = await aliases.get_released_terms(conn, account_id=caller.account_id, alias=gone.alias)
    reply = replies.released(gone, terms, livemode=caller.mode == "live")
    return with_etag(reply, of=gone.alias.id, version=gone.alias.version)
