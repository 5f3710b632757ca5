"""Namecheap (https://www.namecheap.com/support/api/): XML, errors inside HTTP 200; the query holds the key."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator

from builders.portfolio.registrars.adapter import Adapter, ListEnd, Page, Place
from builders.portfolio.registrars.api_client import ApiResponse, T, read
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import CredentialField, HeldDomain, HeldStatus, Profile, Quota
from builders.portfolio.registrars.rows import DomainRow, Flag, SentenceRow, TransferRow, named, read_total

_NAMESPACE = "{http://api.namecheap.com/xml.response}"
_TOO_BUSY = 405  # answered in place of 429
_KEY_REFUSED = ("1010101", "1010102", "1010104", "1010105", "1011102", "1030408", "1050900")


def _read_day(text: object) -> datetime | None:
    """Return the start of a day that is written as MM/DD/YYYY."""
    try:
        return datetime.strptime(str(text), "%m/%d/%Y").replace(tzinfo=UTC)
    except ValueError:
        return None


_Day = Annotated[datetime | None, BeforeValidator(_read_day)]


class _Domain(DomainRow):
    model_config = named(
        domain="Name",
        expires_at="Expires",
        created_at="Created",
        auto_renew="AutoRenew",
        locked="IsLocked",
        guard="WhoisGuard",
        is_expired="IsExpired",
    )
    expires_at: _Day = None
    created_at: _Day = None
    guard: str | None = None
    is_expired: Flag = None

    def held(self) -> HeldDomain:
        """Read the state and the privacy."""
        return replace(
            super().held(),
            privacy=None if self.guard is None else self.guard == "ENABLED",
            status=HeldStatus.EXPIRED if self.is_expired else HeldStatus.ACTIVE,
        )


class _Transfer(SentenceRow):
    model_config = named(domain="DomainName", id="TransferID", status_raw="Status", started_at="TransferDate")
    id: int = 0
    status_raw: str = ""
    started_at: _Day = None


class Namecheap(Adapter):
    """An account at Namecheap."""

    profile = Profile(
        provider="namecheap",
        label="Namecheap",
        url="https://api.namecheap.com",
        sandbox_url="https://api.sandbox.namecheap.com",
        live_domains=("namecheap.com",),
        credential_fields=(
            CredentialField(name="api_user", label="API user", is_secret=False),
            CredentialField(name="api_key", label="API key"),
            CredentialField(name="username", label="Username", is_secret=False),
            CredentialField(name="client_ip", label="Allowed IPv4 address of this service", is_secret=False),
        ),
        quota=Quota(requests=20, window_s=60),
        dashboard_url="https://ap.www.namecheap.com/domains/list/",
        list_end=(
            "as many rows as `Paging/TotalItems` of each page "
            "(www.namecheap.com/support/api/methods/domains/get-list, November 2026)"
        ),
        place="namecheap.com, Profile, Tools, API access",
        requires=(
            "20 domains, a balance of 50 dollars, or 50 dollars spent in two years; `client_ip` is the service's "
            "IPv4 address, which must be on Namecheap's list of allowed addresses"
        ),
        aliases=("namecheapcom",),
        resold=("enom",),
    )
    ends = ListEnd.TOTAL
    failures: ClassVar = {
        **dict.fromkeys(("1011150", "1011147"), RegistrarFailure.IP_NOT_ALLOWED),
        **dict.fromkeys(_KEY_REFUSED, RegistrarFailure.AUTH_FAILED),
        **dict.fromkeys(("1017410", "1017411"), RegistrarFailure.RESTRICTED),
        **dict.fromkeys(("3050900", "5019169", "5050169", "5050900"), RegistrarFailure.UNAVAILABLE),
        **dict.fromkeys(("2019166", "2016166"), RegistrarFailure.NOT_FOUND),
    }
    auth_hint = "Check API user, key and username, and that API access is switched on."
    hints: ClassVar = {
        RegistrarFailure.IP_NOT_ALLOWED: "Allow the address {client_ip} at Namecheap: Profile, Tools, API Access.",
        RegistrarFailure.RESTRICTED: (
            "Namecheap's API requires 20 domains, a balance of $50, or $50 spent in two years."
        ),
    }
    query: ClassVar = {
        "ApiUser": "{api_user}",
        "ApiKey": "{api_key}",
        "UserName": "{username}",
        "ClientIp": "{client_ip}",
    }

    async def read_domains(self, place: Place) -> Page[_Domain]:
        """Return a page of 100 domains; the list ends at the total."""
        return await self._call("namecheap.domains.getList", self._page, Page=place.number)

    def _page(self, response: ApiResponse) -> Page[_Domain]:
        content = self.content(response)
        result = content.find(f".//{_NAMESPACE}DomainGetListResult")
        if result is None:
            raise RegistrarFailed(RegistrarFailure.MALFORMED)
        total = read_total(content.findtext(f".//{_NAMESPACE}Paging/{_NAMESPACE}TotalItems"))
        rows = [read(_Domain, row.attrib) for row in result.iterfind(f"{_NAMESPACE}Domain")]
        return Page(rows=rows, total=total)

    async def list_transfers(self, domain: str) -> Sequence[TransferRow]:
        """Return the latest incoming transfer of the domain."""
        command = "namecheap.domains.transfer.getList"
        content = await self._call(command, self.content, Page=1, SearchTerm=domain)
        rows = [read(_Transfer, row.attrib) for row in content.iter(f"{_NAMESPACE}Transfer")]
        return sorted((row for row in rows if row.domain == domain), key=lambda row: row.id)[-1:]

    async def _call(self, command: str, into: Callable[[ApiResponse], T], **query: str | int) -> T:
        query = {"Command": command, "PageSize": 100, **query}
        return await self.send("GET", "/xml.response", into=into, query=query)

    def content(self, response: ApiResponse) -> Any:
        """Return the document. Raise RegistrarFailed for an error, which has a number."""
        if response.status == _TOO_BUSY:
            raise RegistrarFailed(RegistrarFailure.RATE_LIMITED)
        root = response.xml()
        if root.get("Status") == "OK":
            return root
        error = root.find(f"{_NAMESPACE}Errors/{_NAMESPACE}Error")
        raise self.failure("" if error is None else error.get("Number", ""))
