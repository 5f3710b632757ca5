"""Cloudflare Registrar (https://developers.cloudflare.com/api/resources/registrar/); no bills by API."""

from collections.abc import AsyncIterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, TypeAdapter

from builders.portfolio.registrars.adapter import Adapter, Flag, Rows, a_label, convert, incomplete, read_time
from builders.portfolio.registrars.api_client import ApiClient, ApiResponse, read
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import (
    AuthCodeDelivery,
    Capabilities,
    CredentialField,
    Environment,
    HeldDomain,
    HeldStatus,
    HeldTransfer,
    Profile,
    Quota,
    TransferDirection,
    TransferState,
)

_PER_PAGE = 50
_STATUSES = {
    "active": HeldStatus.ACTIVE,
    "registration_pending": HeldStatus.PENDING,
    "expired": HeldStatus.EXPIRED,
    "suspended": HeldStatus.SUSPENDED,
    "redemption_period": HeldStatus.REDEMPTION,
    "pending_delete": HeldStatus.PENDING_DELETE,
}
_STATES = {
    "pending": TransferState.PENDING,
    "in_progress": TransferState.PENDING,
    "action_required": TransferState.ACTION_REQUIRED,
    "blocked": TransferState.ACTION_REQUIRED,
    "succeeded": TransferState.COMPLETED,
    "failed": TransferState.FAILED,
}
_REFUSED_CREDENTIALS = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}


class _Error(BaseModel):
    code: int
    message: str = ""


class _Paging(BaseModel):
    cursor: str | None = None
    count: int | None = None  # rows of the page


class _Envelope(BaseModel):
    success: bool
    errors: Rows[_Error] = ()
    result: Any = None
    result_info: _Paging | None = None


class _Registration(BaseModel):
    domain_name: str
    created_at: str | None = None
    expires_at: str | None = None
    auto_renew: Flag = None
    locked: Flag = None
    privacy_mode: str | None = None
    status: str | None = None


class _Workflow(BaseModel):
    state: str
    created_at: str | None = None
    updated_at: str | None = None
    completed: bool = False
    error: _Error | None = None


_ENVELOPE = TypeAdapter(_Envelope)
_REGISTRATIONS = TypeAdapter(Rows[_Registration])
_WORKFLOW = TypeAdapter(_Workflow)


class Cloudflare(Adapter):
    """An account at Cloudflare Registrar."""

    profile = Profile(
        provider="cloudflare",
        label="Cloudflare Registrar",
        base_urls={Environment.LIVE: "https://api.cloudflare.com/client/v4"},
        live_domains=("cloudflare.com",),
        credential_fields=(
            CredentialField(name="api_token", label="API token"),
            CredentialField(name="account_id", label="Account ID", is_secret=False),
        ),
        capabilities=Capabilities(auth_code=AuthCodeDelivery.DASHBOARD, transfer_status=True),
        quota=Quota(requests=1200, window_s=300),
        dashboard_url="https://dash.cloudflare.com/?to=/:account/domains",
        list_end=(
            "`result_info` without a `cursor`, and on each page a `count` equal to its rows "
            "(developers.cloudflare.com/api/resources/registrar, November 2026)"
        ),
    )

    def __init__(self, api: ApiClient, *, credentials: Mapping[str, str]) -> None:
        super().__init__(api, credentials=credentials)
        self._headers = {"Authorization": f"Bearer {credentials['api_token']}"}
        self._path = f"/accounts/{credentials['account_id']}/registrar/registrations"

    async def list_domains(self) -> AsyncIterator[Sequence[HeldDomain]]:
        """Yield pages by cursor; an empty cursor ends the list."""
        query: dict[str, str | int] = {"per_page": _PER_PAGE}
        is_cut = False
        while True:
            page = await self._api.get(self._path, into=_read, query=query, headers=self._headers)
            rows, paging = read(_REGISTRATIONS, page.result), page.result_info
            yield await convert(rows, _held)
            is_cut |= paging is None or paging.count not in {None, len(rows)}
            if paging is None or not paging.cursor:
                break
            query["cursor"] = paging.cursor
        if is_cut:
            raise incomplete("A page had another number of domains than it names, or did not say where it ends.")

    async def find_transfer(self, domain: str) -> HeldTransfer | None:
        """Return the workflow of an incoming transfer."""
        path = f"{self._path}/{domain}/transfer-in"
        try:
            found = await self._api.get(path, into=_read, headers=self._headers)
        except RegistrarFailed as failed:
            if failed.kind is RegistrarFailure.NOT_FOUND:
                return None
            raise
        workflow = read(_WORKFLOW, found.result)
        return HeldTransfer(
            direction=TransferDirection.IN,
            state=_STATES.get(workflow.state, TransferState.ACTION_REQUIRED),
            status_raw=workflow.state,
            started_at=read_time(workflow.created_at),
            completed_at=read_time(workflow.updated_at) if workflow.completed else None,
            message=workflow.error.message if workflow.error else None,
        )


def _read(response: ApiResponse) -> _Envelope:
    envelope = read(_ENVELOPE, response.json())
    if envelope.success:
        return envelope
    code = str(envelope.errors[0].code) if envelope.errors else None
    if response.status in _REFUSED_CREDENTIALS:
        hint = "Check the token, its permission Registrar: Domains Read, and the account ID."
        raise RegistrarFailed(RegistrarFailure.AUTH_FAILED, code=code, hint=hint)
    if response.status == HTTPStatus.NOT_FOUND:
        raise RegistrarFailed(RegistrarFailure.NOT_FOUND, code=code)
    raise RegistrarFailed(RegistrarFailure.REFUSED, code=code)


def _held(row: _Registration) -> HeldDomain:
    return HeldDomain(
        domain=a_label(row.domain_name),
        expires_at=read_time(row.expires_at),
        created_at=read_time(row.created_at),
        auto_renew=row.auto_renew,
        locked=row.locked,
        privacy=None if row.privacy_mode is None else row.privacy_mode != "off",
        status=_STATUSES.get(row.status or "", HeldStatus.UNKNOWN),
        status_raw=row.status,
    )
