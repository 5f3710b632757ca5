"""/v1/auth/device: a machine asks for keys, and a person decides (RFC 8628); /v1/account/machines."""

from dataclasses import replace
from typing import Annotated, cast
from uuid import UUID

from fastapi import Path, Request

from builders.identity import mandates
from builders.identity.devices import schemas, service
from builders.identity.devices.errors import (
    AccessDenied,
    AuthorizationPending,
    DeviceCodeExpired,
    DeviceCodeInvalid,
    DeviceCodesUsedUp,
    DeviceRequestEnded,
    DeviceRequestNotFound,
    DeviceRequestsFull,
    SlowDown,
)
from builders.identity.devices.records import OpenedRequest
from builders.identity.errors import KeyLimit
from builders.identity.mandates import Machines
from builders.kit.callers import APPROVE, Caller
from builders.kit.db.connections import Pool, Reads, Tx
from builders.kit.errors import problems
from builders.kit.http import forms
from builders.kit.http.callers import needs
from builders.kit.http.dependencies import ClientAddress, KeyringDep, SettingsDep
from builders.kit.http.idempotency import WITHOUT_IDEMPOTENCY
from builders.kit.http.json_bodies import ALSO_JSON
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.limits.policies import SITE_PREFIX_BITS, STOPS, Policy, declare, rate_limit
from builders.kit.limits.rate_limiter import require_quota
from builders.kit.mandates import Mandate
from builders.kit.values import ids

router = Router(prefix="/v1/auth/device", tags=["auth"])
PAGE = "/console/device"
AUTHORIZE = declare(
    Policy(
        name="device_authorize",
        quota=10,
        window_s=600,
        by="address",
        network=SITE_PREFIX_BITS,
        counts="Machines that ask for keys.",
    )
)
# Twenty machines behind one address can poll at the interval.
POLL = declare(
    Policy(
        name="device_token",
        quota=2_400,
        window_s=600,
        by="address",
        network=SITE_PREFIX_BITS,
        counts="Polls of machines that wait for their keys.",
    )
)
TYPED = declare(
    Policy(name="device_code", quota=30, window_s=600, by="account", counts="Codes of machines that people type.")
)
RequestId = Annotated[UUID, Path(description="Identifier of the request."), ResourceId(DeviceRequestNotFound)]
_READS_FORMS = {**BEYOND_SPEC, ALSO_JSON: [forms.MEDIA_TYPE]}


Person = Annotated[Caller, needs(APPROVE, fresh=True)]  # who has signed in lately


@router.post(
    "/authorize",
    responses=problems(DeviceRequestsFull),
    openapi_extra=_READS_FORMS,
    dependencies=[rate_limit(AUTHORIZE)],
)
async def authorize(
    body: schemas.DeviceAuthorizationCreate,
    address: ClientAddress,
    conn: Tx,
    keyring: KeyringDep,
    settings: SettingsDep,
) -> schemas.DeviceAuthorizationReply:
    """Ask for keys for a machine, which a person approves (RFC 8628)."""
    codes = await service.request_keys(
        conn,
        keyring=keyring,
        host=body.host,
        address=address,
        presets=body.presets(),
        asks_live=body.asks_live(),
        asks_agent=body.asks_agent(),
    )
    return schemas.DeviceAuthorizationReply(
        device_code=codes.device_code,
        user_code=codes.user_code,
        verification_uri=f"{settings.url}{PAGE}",
        expires_in=int(service.LIFETIME.total_seconds()),
        interval=service.INTERVAL_S,
    )


@router.post(
    "/token",
    responses=problems(
        AuthorizationPending, SlowDown, DeviceCodeExpired, AccessDenied, DeviceCodeInvalid, KeyLimit
    ),
    openapi_extra=_READS_FORMS,
    dependencies=[rate_limit(POLL)],
)
async def collect(
    body: schemas.DeviceTokenRequest, database: Pool, keyring: KeyringDep
) -> schemas.DeviceKeysReply:
    """Collect the keys of a machine once a person has approved it; poll at the `interval`.

    The first poll after the approval creates the keys. Within two minutes it can be repeated for a response that
    was lost: then the keys are revoked and created anew.
    """
    new = await service.collect_keys(database, keyring=keyring, device_code=body.device_code)
    return schemas.DeviceKeysReply(keys=list(new))


def _seen(opened: OpenedRequest, address: str) -> OpenedRequest:
    """Return the request as a person at the address sees it."""
    return replace(opened, same_address=address != "" and opened.address == address)


@router.post(
    "/code",
    response_model=schemas.DeviceRequestReply,
    responses=problems(DeviceCodesUsedUp),
    openapi_extra=BEYOND_SPEC,
    dependencies=[rate_limit(TYPED), WITHOUT_IDEMPOTENCY],
)
async def open_request(
    body: schemas.DeviceCodeRequest, caller: Person, address: ClientAddress, database: Pool, keyring: KeyringDep
) -> OpenedRequest:
    """Open the request of a machine by the code that it shows; needs a person who has signed in lately."""
    opened = await service.open_request(
        database,
        keyring=keyring,
        account_id=caller.account_id,
        session_id=caller.session_id or ids.NIL,
        user_code=body.user_code,
    )
    return _seen(opened, address)


@router.get("/requests/{request_id}", response_model=schemas.DeviceRequestReply, openapi_extra=BEYOND_SPEC)
async def get_request(request_id: RequestId, caller: Person, address: ClientAddress, conn: Reads) -> OpenedRequest:
    """Read the request of a machine whose code a person of the account has typed."""
    opened = await service.get_request(conn, account_id=caller.account_id, request_id=request_id)
    return _seen(opened, address)


@router.post(
    "/requests/{request_id}/decision",
    response_model=schemas.DeviceRequestReply,
    responses=problems(DeviceRequestEnded, KeyLimit),
    openapi_extra=BEYOND_SPEC,
    dependencies=[STOPS],
)
async def decide(
    request: Request,
    request_id: RequestId,
    body: schemas.DeviceDecisionCreate,
    caller: Person,
    address: ClientAddress,
    conn: Tx,
) -> OpenedRequest:
    """Approve or deny the request of a machine; needs a person who has signed in lately.

    Until the machine has collected its keys, a denial takes an approval back.
    """
    if body.decision == "approve":
        require_quota(request.scope)
    opened = await service.decide(
        conn,
        account_id=caller.account_id,
        actor=caller.actor,
        request_id=request_id,
        approve=body.decision == "approve",
        test_presets=body.test_presets,
        live_preset=body.live_preset,
        mandate=cast(Mandate | None, body.mandate),
    )
    return _seen(opened, address)


machines_router = Router(prefix="/v1/account", tags=["account"])
Reader = Annotated[Caller, needs("account:read")]
LIMIT = declare(
    Policy(name="machines", quota=30, window_s=600, by="account", counts="Changes of the limit of all machines.")
)


@machines_router.get("/machines", openapi_extra=BEYOND_SPEC)
async def get_machines(caller: Reader, conn: Reads) -> Machines:
    """Read what all machines with a mandate may cost in 30 days, and have cost."""
    return await mandates.get_machines(conn, account_id=caller.live_account_id)


@machines_router.put("/machines", openapi_extra=BEYOND_SPEC, dependencies=[rate_limit(LIMIT)])
async def limit_machines(body: schemas.MachinesUpdate, caller: Person, conn: Tx) -> Machines:
    """Limit what all machines with a mandate cost together in 30 days, as a person who has signed in lately.

    The renewals of their names count too. They are never refused, but leave less.
    """
    return await mandates.set_machines_limit(
        conn, account_id=caller.live_account_id, limit=body.max_total_per_30_days, actor=caller.actor
    )
