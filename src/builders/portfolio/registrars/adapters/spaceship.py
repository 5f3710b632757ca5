"""Spaceship (https://docs.spaceship.dev/): domains, transfers and codes; no bills by API."""

from collections.abc import AsyncIterator, Mapping, Sequence

from pydantic import Field, TypeAdapter
from pydantic_core import to_json

from builders.portfolio.registrars.adapter import Adapter, Flag, Row, Rows, Total, a_label, convert, read_time
from builders.portfolio.registrars.api_client import ApiClient, ApiResponse, Query, T, read, require_success
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import (
    AuthCode,
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

_HINT = "Check key and secret, and that the key has the scopes for domains and transfers."
_PER_PAGE = 100
_STATUSES = {
    "creating": HeldStatus.PENDING,
    "registered": HeldStatus.ACTIVE,
    "grace1": HeldStatus.EXPIRED,
    "grace2": HeldStatus.EXPIRED,
    "redemption": HeldStatus.REDEMPTION,
}
_STATES = {
    "pending": TransferState.PENDING,
    "completed": TransferState.COMPLETED,
    "cancelled": TransferState.CANCELLED,
}
_LOCKS = {"clientTransferProhibited", "serverTransferProhibited"}


class _Privacy(Row):
    level: str = "public"


class _Nameservers(Row):
    hosts: Rows[str] = ()


class _Domain(Row):
    name: str
    auto_renew: Flag = None
    registration_date: str | None = None
    expiration_date: str | None = None
    lifecycle_status: str | None = None
    epp_statuses: tuple[str, ...] | None = None
    privacy_protection: _Privacy | None = None
    nameservers: _Nameservers | None = None


class _Page(Row):
    items: Rows[_Domain]
    total: int


class _Transfer(Row):
    status: str
    direction: str = "in"
    started_at: str | None = None
    finished_at: str | None = None


class _Code(Row):
    auth_code: str = Field(repr=False)
    expires: str | None = None


_PAGE = TypeAdapter(_Page)
_DOMAIN = TypeAdapter(_Domain)
_TRANSFER = TypeAdapter(_Transfer)
_CODE = TypeAdapter(_Code)


class Spaceship(Adapter):
    """An account at Spaceship."""

    profile = Profile(
        provider="spaceship",
        label="Spaceship",
        base_urls={Environment.LIVE: "https://spaceship.dev/api/v1"},
        live_domains=("spaceship.dev", "spaceship.com"),
        credential_fields=(
            CredentialField(name="api_key", label="API key"),
            CredentialField(name="api_secret", label="API secret"),
        ),
        capabilities=Capabilities(set_auto_renew=True, auth_code=AuthCodeDelivery.RETURNED, transfer_status=True),
        quota=Quota(requests=300, window_s=300),
        dashboard_url="https://www.spaceship.com/application/domain-list-application/",
        list_end="as many rows as `total` of each page (docs.spaceship.dev, Get domain list, November 2026)",
        is_verified=False,
    )

    def __init__(self, api: ApiClient, *, credentials: Mapping[str, str]) -> None:
        super().__init__(api, credentials=credentials)
        self._headers = {"X-Api-Key": credentials["api_key"], "X-Api-Secret": credentials["api_secret"]}

    async def list_domains(self) -> AsyncIterator[Sequence[HeldDomain]]:
        """Yield pages of 100 domains until the total is reached."""
        total, is_end = Total(), False
        while not is_end:
            page = await self._get("/domains", _PAGE, {"take": _PER_PAGE, "skip": total.rows})
            yield await convert(page.items, _held)
            is_end = total.add(len(page.items), page.total)
        total.require()

    async def get_domain(self, domain: str) -> HeldDomain:
        """Return one domain."""
        return _held(await self._get(f"/domains/{domain}", _DOMAIN))

    async def get_auth_code(self, domain: str) -> AuthCode:
        """Return the authorization code and until when it is valid."""
        found = await self._get(f"/domains/{domain}/transfer/auth-code", _CODE)
        return AuthCode(
            delivery=AuthCodeDelivery.RETURNED, code=found.auth_code, expires_at=read_time(found.expires)
        )

    async def find_transfer(self, domain: str) -> HeldTransfer | None:
        """Return the transfer of the domain, in either direction."""
        try:
            found = await self._get(f"/domains/{domain}/transfer", _TRANSFER)
        except RegistrarFailed as failed:
            if failed.kind is RegistrarFailure.NOT_FOUND:
                return None
            raise
        return HeldTransfer(
            direction=TransferDirection.OUT if found.direction.lower() == "out" else TransferDirection.IN,
            state=_STATES.get(found.status, TransferState.ACTION_REQUIRED),
            status_raw=found.status,
            started_at=read_time(found.started_at),
            completed_at=read_time(found.finished_at),
        )

    async def set_auto_renew(self, domain: str, *, enabled: bool) -> None:
        """Switch automatic renewal on or off."""
        headers = {**self._headers, "Content-Type": "application/json"}
        body = to_json({"isEnabled": enabled})
        await self._api.send(
            "PUT", f"/domains/{domain}/autorenew", into=_accept, headers=headers, body=body, reads=False
        )

    async def _get(self, path: str, form: TypeAdapter[T], query: Query | None = None) -> T:
        def into(response: ApiResponse) -> T:
            return read(form, require_success(response, auth_hint=_HINT).json())

        return await self._api.get(path, into=into, query=query, headers=self._headers)


def _accept(response: ApiResponse) -> None:
    require_success(response, auth_hint=_HINT)


def _held(row: _Domain) -> HeldDomain:
    statuses = row.epp_statuses
    return HeldDomain(
        domain=a_label(row.name),
        expires_at=read_time(row.expiration_date),
        created_at=read_time(row.registration_date),
        auto_renew=row.auto_renew,
        locked=None if statuses is None else not _LOCKS.isdisjoint(statuses),
        privacy=None if row.privacy_protection is None else row.privacy_protection.level != "public",
        status=_STATUSES.get(row.lifecycle_status or "", HeldStatus.UNKNOWN),
        status_raw=row.lifecycle_status,
        nameservers=row.nameservers.hosts if row.nameservers else None,
    )
