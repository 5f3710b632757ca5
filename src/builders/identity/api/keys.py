"""/v1/api-keys."""

from datetime import timedelta
from typing import Annotated, Any
from uuid import UUID

from fastapi import Path

from builders.identity import keys, scopes
from builders.identity.errors import KeyLimit, KeyLimited, KeyNotFound, KeyRevoked
from builders.identity.records import ApiKey, KeyKind, Scope
from builders.identity.schemas import keys as schemas
from builders.kit.db.connections import Reads, Tx
from builders.kit.errors import RotationInProgress, problems
from builders.kit.http.callers import Caller, LiveKeyRequired, needs
from builders.kit.http.pagination import JsonPage, Listing, PageQuery, PageReply
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.limits.policies import Policy, declare, rate_limit

router = Router(prefix="/v1/api-keys", tags=["api-keys"])
KeyId = Annotated[UUID, Path(description="Identifier of the API key; not the secret."), ResourceId(KeyNotFound)]
Reader = Annotated[Caller, needs("keys:read")]
Minter = Annotated[Caller, needs("keys:write", fresh=True)]
MINT = declare(Policy(name="mint", quota=30, window_s=600, by="account", counts="New and rotated API keys."))
# A link to the rotation of the new key (OpenAPI 3.1, "Link Object").
ROTATION: dict[int | str, dict[str, Any]] = {
    200: {"links": {"rotate": {"operationId": "api_keys_rotate", "parameters": {"key_id": "$response.body#/id"}}}}
}


@router.post(
    "", responses={**problems(LiveKeyRequired, KeyLimit, KeyLimited), **ROTATION}, dependencies=[rate_limit(MINT)]
)
async def create(body: schemas.ApiKeyCreate, caller: Minter, conn: Tx) -> schemas.ApiKeyCreated:
    """Mint an API key. Only this response contains the secret."""
    new = await keys.create_key(
        conn,
        account_id=caller.live_account_id,
        label=body.label,
        kind=body.key_kind,
        preset=body.preset,
        minted_by=KeyKind(caller.mode),
        actor=caller.actor,
        expires_at=body.expires_at,
        allowed_ips=body.allowed_ips,
    )
    return schemas.created_reply(new)


@router.get("/scopes", response_model=Listing[schemas.ScopeReply], dependencies=[needs("keys:read")])
async def list_scopes() -> Listing[Scope]:
    """List every scope and the presets that hold it."""
    return Listing(items=scopes.list_scopes())


@router.get("", response_model=PageReply[schemas.ApiKeyItem], openapi_extra=BEYOND_SPEC)
async def list_keys(caller: Reader, conn: Reads, page: PageQuery) -> JsonPage:
    """List the account's API keys, newest first."""
    return await keys.list_keys(conn, account_id=caller.live_account_id, page=page)


@router.get("/{key_id}", response_model=schemas.ApiKeyReply, openapi_extra=BEYOND_SPEC)
async def get(key_id: KeyId, caller: Reader, conn: Reads) -> ApiKey:
    """Read one API key."""
    return await keys.get_key(conn, account_id=caller.live_account_id, key_id=key_id)


@router.delete(
    "/{key_id}", response_model=schemas.ApiKeyReply, responses=problems(LiveKeyRequired), openapi_extra=BEYOND_SPEC
)
async def revoke(key_id: KeyId, caller: Minter, conn: Tx) -> ApiKey:
    """Revoke an API key; it is refused within the cache time of credentials."""
    return await keys.revoke_key(
        conn,
        account_id=caller.live_account_id,
        key_id=key_id,
        revoked_by=KeyKind(caller.mode),
        actor=caller.actor,
    )


@router.post(
    "/{key_id}/rotate",
    responses=problems(KeyRevoked, RotationInProgress, KeyLimit, KeyLimited, LiveKeyRequired),
    openapi_extra=BEYOND_SPEC,
    dependencies=[rate_limit(MINT)],
)
async def rotate(
    key_id: KeyId, caller: Minter, conn: Tx, body: schemas.ApiKeyRotate | None = None
) -> schemas.ApiKeyCreated:
    """Replace an API key; the old key works until the end of the overlap."""
    new = await keys.rotate_key(
        conn,
        account_id=caller.live_account_id,
        key_id=key_id,
        overlap=timedelta(hours=(body or schemas.ApiKeyRotate()).overlap_hours),
        rotated_by=KeyKind(caller.mode),
        actor=caller.actor,
    )
    return schemas.created_reply(new)
