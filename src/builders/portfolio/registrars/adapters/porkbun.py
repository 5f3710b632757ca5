"""Porkbun (https://porkbun.com/api/json/v3/documentation): domains and incoming transfers; no order history."""

from collections.abc import AsyncIterator, Sequence

from pydantic import TypeAdapter

from builders.portfolio.registrars.adapter import Adapter, Flag, Row, Rows, a_label, convert, read_time
from builders.portfolio.registrars.api_client import ApiResponse, T, read
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

_STATUSES = {"ACTIVE": HeldStatus.ACTIVE, "EXPIRED": HeldStatus.EXPIRED, "REDEMPTION": HeldStatus.REDEMPTION}
_AUTH_CODES = {"INVALID_API_KEYS_001", "API_KEY_REQUIRED"}
_STATES = {
    **dict.fromkeys(("NEW", "INIT", "PENDINGAUTH", "PENDINGSUBMIT", "PENDINGTRANSFER"), TransferState.PENDING),
    "DONE": TransferState.COMPLETED,
    "CANCELED": TransferState.CANCELLED,
}


class _Domain(Row):
    domain: str
    status: str | None = None
    create_date: str | None = None
    expire_date: str | None = None
    security_lock: Flag = None  # flags are 0, 1, "0" or "1"
    whois_privacy: Flag = None
    auto_renew: Flag = None


class _Transfer(Row):
    domain: str
    status: str
    status_description: str | None = None
    transfer_date: str | None = None


class _Reply(Row):
    """The members of every response; errors have status ERROR and a code, also with HTTP 200."""

    status: str
    code: str | None = None
    ttl_remaining: float | None = None  # seconds


class _Domains(Row):
    domains: Rows[_Domain]


class _Transfers(Row):
    transfers: Rows[_Transfer] = ()


_REPLY = TypeAdapter(_Reply)
_DOMAINS = TypeAdapter(_Domains)
_TRANSFERS = TypeAdapter(_Transfers)


class Porkbun(Adapter):
    """An account at Porkbun."""

    profile = Profile(
        provider="porkbun",
        label="Porkbun",
        base_urls={Environment.LIVE: "https://api.porkbun.com/api/json/v3"},
        live_domains=("porkbun.com",),
        credential_fields=(
            CredentialField(name="api_key", label="API key"),
            CredentialField(name="secret_api_key", label="Secret API key"),
        ),
        capabilities=Capabilities(auth_code=AuthCodeDelivery.DASHBOARD, transfer_status=True),
        quota=Quota(requests=60, window_s=60),
        dashboard_url="https://porkbun.com/account/domainsSpeedy",
        list_end=(
            'an empty list: "increment by 1000 until you receive an empty array" '
            "(porkbun.com/api/json/v3/documentation, Domain List All, November 2026)"
        ),
    )

    async def list_domains(self) -> AsyncIterator[Sequence[HeldDomain]]:
        """Yield pages of at most 1,000 domains, each from the index behind the one before; an empty page ends."""
        start = 0
        while True:
            rows = (await self._call("/domain/listAll", _DOMAINS, start=str(start))).domains
            yield await convert(rows, _held)
            if not rows:
                return
            start += len(rows)

    async def find_transfer(self, domain: str) -> HeldTransfer | None:
        """Return the latest incoming transfer of the domain."""
        rows = (await self._call("/domain/listTransfers", _TRANSFERS)).transfers
        found = [row for row in rows if a_label(row.domain) == domain]
        if not found:
            return None
        latest = max(found, key=lambda row: row.transfer_date or "")
        return HeldTransfer(
            direction=TransferDirection.IN,
            state=_STATES.get(latest.status, TransferState.ACTION_REQUIRED),
            status_raw=latest.status,
            started_at=read_time(latest.transfer_date),
            message=latest.status_description,
        )

    async def _call(self, path: str, form: TypeAdapter[T], **members: str) -> T:
        def into(response: ApiResponse) -> T:
            body = response.json()
            reply = read(_REPLY, body)
            if reply.status != "SUCCESS":
                raise _failure(reply, status=response.status)
            return read(form, body)

        keys = {"apikey": self._credentials["api_key"], "secretapikey": self._credentials["secret_api_key"]}
        return await self._api.post(path, into=into, json={**keys, **members}, reads=True)


def _failure(reply: _Reply, *, status: int) -> RegistrarFailed:
    code = reply.code or ""
    if code in _AUTH_CODES or status in {401, 403}:
        hint = "Check both keys, and that API access is switched on for the account."
        return RegistrarFailed(RegistrarFailure.AUTH_FAILED, code=code, hint=hint)
    if code == "RATE_LIMIT_EXCEEDED":
        return RegistrarFailed(RegistrarFailure.RATE_LIMITED, code=code, retry_after_s=reply.ttl_remaining)
    if code in {"DOMAIN_NOT_FOUND", "INVALID_DOMAIN"}:
        return RegistrarFailed(RegistrarFailure.NOT_FOUND, code=code)
    return RegistrarFailed(RegistrarFailure.REFUSED, code=code)


def _held(row: _Domain) -> HeldDomain:
    return HeldDomain(
        domain=a_label(row.domain),
        expires_at=read_time(row.expire_date),
        created_at=read_time(row.create_date),
        auto_renew=row.auto_renew,
        locked=row.security_lock,
        privacy=row.whois_privacy,
        status=_STATUSES.get(row.status or "", HeldStatus.UNKNOWN),
        status_raw=row.status,
    )
