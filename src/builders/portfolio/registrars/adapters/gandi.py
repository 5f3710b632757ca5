"""Gandi (https://api.gandi.net/docs/domains/): domains and codes; no bills by API that could be confirmed."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field, TypeAdapter

from builders.portfolio.registrars.adapter import (
    Adapter,
    Flag,
    Rows,
    Total,
    a_label,
    convert,
    read_time,
    read_total,
)
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
    Profile,
    Quota,
)

_HINT = "Check the token, its end date, and that it may see the organization's domains."
_PER_PAGE = 500
_LOCKS = {"clientTransferProhibited", "serverTransferProhibited"}
# The first one that a domain has decides.
_STATUSES = (
    ("pendingDelete", HeldStatus.PENDING_DELETE),
    ("redemptionPeriod", HeldStatus.REDEMPTION),
    ("pendingTransfer", HeldStatus.TRANSFERRING_OUT),
    ("clientHold", HeldStatus.SUSPENDED),
    ("serverHold", HeldStatus.SUSPENDED),
)


def _switch(value: object) -> object:
    """Return the flag of `autorenew`, which the list writes as a boolean and the details as an object."""
    return value.get("enabled") if isinstance(value, dict) else value


class _Dates(BaseModel):
    registry_created_at: str | None = None
    registry_ends_at: str | None = None


class _Nameserver(BaseModel):
    hosts: Rows[str] = ()


class _Domain(BaseModel):
    fqdn: str
    status: Rows[str] = ()
    dates: _Dates = _Dates()
    autorenew: Annotated[Flag, BeforeValidator(_switch)] = None
    nameserver: _Nameserver | None = None  # in the list
    nameservers: tuple[str, ...] | None = None  # in the details
    authinfo: str | None = Field(default=None, repr=False)


_DOMAINS = TypeAdapter(Rows[_Domain])
_DOMAIN = TypeAdapter(_Domain)


class Gandi(Adapter):
    """An organization at Gandi."""

    profile = Profile(
        provider="gandi",
        label="Gandi",
        base_urls={
            Environment.LIVE: "https://api.gandi.net/v5",
            Environment.SANDBOX: "https://api.sandbox.gandi.net/v5",
        },
        live_domains=("gandi.net",),
        credential_fields=(CredentialField(name="token", label="Personal access token"),),
        capabilities=Capabilities(auth_code=AuthCodeDelivery.RETURNED, sandbox=True),
        quota=Quota(requests=300, window_s=60),
        dashboard_url="https://admin.gandi.net/domain/",
        list_end="as many rows as the header `Total-Count` of each page (api.gandi.net/docs, November 2026)",
        is_verified=False,
    )

    def __init__(self, api: ApiClient, *, credentials: Mapping[str, str]) -> None:
        super().__init__(api, credentials=credentials)
        self._headers = {"Authorization": f"Bearer {credentials['token']}"}

    async def list_domains(self) -> AsyncIterator[Sequence[HeldDomain]]:
        """Yield pages of at most 500 domains until the total is reached."""
        page, total, is_end = 1, Total(), False
        while not is_end:
            query = {"page": page, "per_page": _PER_PAGE}
            rows, named = await self._api.get("/domain/domains", into=_page, query=query, headers=self._headers)
            yield await convert(rows, _held)
            is_end = total.add(len(rows), named)
            page += 1
        total.require()

    async def get_domain(self, domain: str) -> HeldDomain:
        """Return one domain."""
        return _held(await self._get(f"/domain/domains/{domain}", _DOMAIN))

    async def get_auth_code(self, domain: str) -> AuthCode:
        """Return the authorization code, a member of the domain's details."""
        found = await self._get(f"/domain/domains/{domain}", _DOMAIN)
        if found.authinfo is None:
            raise RegistrarFailed(RegistrarFailure.REFUSED, hint="Unlock the domain at Gandi and try again.")
        return AuthCode(delivery=AuthCodeDelivery.RETURNED, code=found.authinfo)

    async def _get(self, path: str, form: TypeAdapter[T], query: Query | None = None) -> T:
        def into(response: ApiResponse) -> T:
            return read(form, require_success(response, auth_hint=_HINT).json())

        return await self._api.get(path, into=into, query=query, headers=self._headers)


def _page(response: ApiResponse) -> tuple[Sequence[_Domain], int | None]:
    """Return the rows of a page, and the total."""
    page = require_success(response, auth_hint=_HINT)
    return read(_DOMAINS, page.json()), read_total(page.headers.get("Total-Count"))


def _held(row: _Domain) -> HeldDomain:
    found = next((held for name, held in _STATUSES if name in row.status), HeldStatus.UNKNOWN)
    return HeldDomain(
        domain=a_label(row.fqdn),
        expires_at=read_time(row.dates.registry_ends_at),
        created_at=read_time(row.dates.registry_created_at),
        auto_renew=row.autorenew,
        locked=not _LOCKS.isdisjoint(row.status),
        status=found,
        status_raw=", ".join(row.status) or None,
        nameservers=row.nameserver.hosts if row.nameserver else row.nameservers,
    )
