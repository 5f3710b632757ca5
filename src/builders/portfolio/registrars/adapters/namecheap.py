"""Namecheap (https://www.namecheap.com/support/api/): XML, errors inside HTTP 200; the query holds the key."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from xml.etree.ElementTree import Element

from builders.portfolio.registrars.adapter import (
    Adapter,
    Total,
    a_label,
    convert,
    read_flag,
    read_number,
    read_total,
)
from builders.portfolio.registrars.api_client import ApiResponse
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

_NAMESPACE = "{http://api.namecheap.com/xml.response}"
_PER_PAGE = 100
_TOO_BUSY = 405  # answered in place of 429
_IP_REFUSED = {"1011150", "1011147"}
_KEY_REFUSED = {"1010101", "1010102", "1010104", "1010105", "1011102", "1030408", "1050900"}
_RESTRICTED = {"1017410", "1017411"}
_TEMPORARY = {"3050900", "5019169", "5050169", "5050900"}
_NOT_FOUND = {"2019166", "2016166"}
_STATE_WORDS = (
    ("cancel", TransferState.CANCELLED),
    ("complete", TransferState.COMPLETED),
    ("fail", TransferState.FAILED),
    ("reject", TransferState.FAILED),
    ("waiting for", TransferState.ACTION_REQUIRED),
)


class Namecheap(Adapter):
    """An account at Namecheap."""

    profile = Profile(
        provider="namecheap",
        label="Namecheap",
        base_urls={
            Environment.LIVE: "https://api.namecheap.com",
            Environment.SANDBOX: "https://api.sandbox.namecheap.com",
        },
        live_domains=("namecheap.com",),
        credential_fields=(
            CredentialField(name="api_user", label="API user", is_secret=False),
            CredentialField(name="api_key", label="API key"),
            CredentialField(name="username", label="Username", is_secret=False),
            CredentialField(name="client_ip", label="Allowed IPv4 address of this service", is_secret=False),
        ),
        capabilities=Capabilities(auth_code=AuthCodeDelivery.DASHBOARD, transfer_status=True, sandbox=True),
        quota=Quota(requests=20, window_s=60),
        dashboard_url="https://ap.www.namecheap.com/domains/list/",
        list_end=(
            "as many rows as `Paging/TotalItems` of each page "
            "(www.namecheap.com/support/api/methods/domains/get-list, November 2026)"
        ),
    )

    async def list_domains(self) -> AsyncIterator[Sequence[HeldDomain]]:
        """Yield pages of 100 domains until the total is reached."""
        page, total, is_end = 1, Total(), False
        while not is_end:
            found = await self._call("namecheap.domains.getList", Page=page, PageSize=_PER_PAGE)
            result = found.find(f".//{_NAMESPACE}DomainGetListResult")
            if result is None:
                raise RegistrarFailed(RegistrarFailure.MALFORMED)
            rows = result.findall(f"{_NAMESPACE}Domain")
            yield await convert(rows, _held)
            named = found.findtext(f".//{_NAMESPACE}Paging/{_NAMESPACE}TotalItems")
            is_end = total.add(len(rows), read_total(named))
            page += 1
        total.require()

    async def find_transfer(self, domain: str) -> HeldTransfer | None:
        """Return the latest incoming transfer of the domain."""
        found = await self._call(
            "namecheap.domains.transfer.getList", Page=1, PageSize=_PER_PAGE, SearchTerm=domain
        )
        rows = [
            each for each in found.iter(f"{_NAMESPACE}Transfer") if a_label(each.get("DomainName", "")) == domain
        ]
        if not rows:
            return None
        latest = max(rows, key=lambda each: read_number(each.get("TransferID")))
        status = latest.get("Status", "")
        state = next((state for word, state in _STATE_WORDS if word in status.lower()), TransferState.PENDING)
        return HeldTransfer(
            direction=TransferDirection.IN,
            state=state,
            status_raw=status,
            started_at=_read_date(latest.get("TransferDate")),
        )

    async def _call(self, command: str, **query: str | int) -> Element:
        keys = self._credentials
        named = {
            "ApiUser": keys["api_user"],
            "ApiKey": keys["api_key"],
            "UserName": keys["username"],
            "ClientIp": keys["client_ip"],
            "Command": command,
        }
        return await self._api.get("/xml.response", into=self._read, query={**named, **query})

    def _read(self, response: ApiResponse) -> Element:
        if response.status == _TOO_BUSY:
            raise RegistrarFailed(RegistrarFailure.RATE_LIMITED)
        root = response.xml()
        if root.get("Status") == "OK":
            return root
        error = root.find(f"{_NAMESPACE}Errors/{_NAMESPACE}Error")
        raise self._failure("" if error is None else error.get("Number", ""))

    def _failure(self, code: str) -> RegistrarFailed:
        if code in _IP_REFUSED:
            hint = f"Allow the address {self._credentials['client_ip']} at Namecheap: Profile, Tools, API Access."
            return RegistrarFailed(RegistrarFailure.IP_NOT_ALLOWED, code=code, hint=hint)
        if code in _KEY_REFUSED:
            hint = "Check API user, key and username, and that API access is switched on."
            return RegistrarFailed(RegistrarFailure.AUTH_FAILED, code=code, hint=hint)
        if code in _RESTRICTED:
            hint = "Namecheap's API requires 20 domains, a balance of $50, or $50 spent in two years."
            return RegistrarFailed(RegistrarFailure.RESTRICTED, code=code, hint=hint)
        if code in _TEMPORARY:
            return RegistrarFailed(RegistrarFailure.UNAVAILABLE, code=code)
        if code in _NOT_FOUND:
            return RegistrarFailed(RegistrarFailure.NOT_FOUND, code=code)
        return RegistrarFailed(RegistrarFailure.REFUSED, code=code)


def _held(row: Element) -> HeldDomain:
    is_expired = read_flag(row.get("IsExpired"))
    guard = row.get("WhoisGuard")
    return HeldDomain(
        domain=a_label(row.get("Name", "")),
        expires_at=_read_date(row.get("Expires")),
        created_at=_read_date(row.get("Created")),
        auto_renew=read_flag(row.get("AutoRenew")),
        locked=read_flag(row.get("IsLocked")),
        privacy=None if guard is None else guard == "ENABLED",
        status=HeldStatus.EXPIRED if is_expired else HeldStatus.ACTIVE,
    )


def _read_date(text: str | None) -> datetime | None:
    """Return the start of a day that is written as MM/DD/YYYY."""
    try:
        return datetime.strptime(text or "", "%m/%d/%Y").replace(tzinfo=UTC)
    except ValueError:
        return None
