"""Namecheap (https://www.namecheap.com/support/api/): XML, errors inside HTTP 200; the query holds the key."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any, ClassVar

from pydantic import AliasChoices, BaseModel, Field

from builders.kit.values.money import Money
from builders.portfolio.registrars.adapter import Adapter, ListEnd, Page, Place
from builders.portfolio.registrars.api_client import ApiResponse, T
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.items import read_about, read_those
from builders.portfolio.registrars.records import (
    Capabilities,
    CredentialField,
    HeldStatus,
    Profile,
    Quota,
    RegistrarDomain,
    TransferState,
)
from builders.portfolio.registrars.rows import (
    Amount,
    DomainRow,
    Flag,
    SentenceRow,
    TransferRow,
    named,
    read_flag,
    read_total,
    time_by,
)
from builders.portfolio.registrars.sources import Topic, client, document

_PAGES = "https://www.namecheap.com/support/api"
_NAMESPACE = "{http://api.namecheap.com/xml.response}"
# Codes of www.namecheap.com/support/api/global-parameters.
_KEY_REFUSED = ("1010101", "1010102", "1011102", "1016103", "1019103", "1030408")
_ADDRESS_REFUSED = ("1010105", "1011105", "1011147", "1011150", "1017105", "1017150")
_ACCOUNT_REFUSED = ("1017101", "1017103", "1017410")
# Too many requests (github.com/DNSControl/dnscontrol, providers/namecheap), and too many logins.
_LIMITED = ("500000", "1017411")


# The start of a day that is written as MM/DD/YYYY.
_Day = Annotated[datetime | None, time_by(lambda text: datetime.strptime(text, "%m/%d/%Y").replace(tzinfo=UTC))]


class _Domain(DomainRow):
    model_config = named(
        domain="Name",
        expires_at="Expires",
        created_at="Created",
        auto_renew="AutoRenew",
        guard="WhoisGuard",
        is_expired="IsExpired",
        is_premium="IsPremium",
    )
    expires_at: _Day = None
    created_at: _Day = None
    guard: str | None = None
    is_expired: Flag = None

    def held(self) -> RegistrarDomain:
        """Read the privacy."""
        return replace(
            super().held(),
            privacy=None if self.guard is None else self.guard == "ENABLED",
        )

    def status_of(self) -> HeldStatus:
        """Read the flag; a domain without another state is active."""
        status = HeldStatus.EXPIRED if self.is_expired else super().status_of()
        return HeldStatus.ACTIVE if status is HeldStatus.UNKNOWN else status


class _Transfer(SentenceRow):
    model_config = named(
        domain=AliasChoices("DomainName", "Domainname"),
        id=AliasChoices("TransferID", "ID"),
        status_raw="Status",
        started_at="TransferDate",
        message="StatusDescription",
    )
    states: ClassVar = {"waitingforepp": TransferState.ACTION_REQUIRED}
    id: int = 0
    status_raw: str = ""
    started_at: _Day = None


class _Price(BaseModel):
    amount: Amount = Field(alias="YourPrice")
    currency: str = Field(alias="Currency", default="USD")


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
        capabilities=Capabilities(lock=False),
        place="namecheap.com, Profile, Tools, API access",
        requires=(
            "20 domains, a balance of 50 dollars, or 50 dollars spent in two years; `client_ip` is the service's "
            "IPv4 address, which must be on Namecheap's list of allowed addresses"
        ),
        aliases=("namecheapcom",),
        sources=(
            document(f"{_PAGES}/global-parameters", "2026-11-22", Topic.AUTHENTICATION, Topic.ERRORS),
            document(
                f"{_PAGES}/methods/domains/get-list", "2026-11-22", Topic.PAGES, Topic.STATES, Topic.AUTO_RENEW
            ),
            document(f"{_PAGES}/methods/domains/get-registrar-lock", "2026-11-22", Topic.LOCK),
            document(f"{_PAGES}/methods/users/get-pricing", "2026-11-22", Topic.PRICES),
            document(f"{_PAGES}/transfer-statuses", "2026-11-22", Topic.TRANSFERS),
            document(_PAGES, "2026-11", Topic.SANDBOX),
            client("https://github.com/namecheap/go-namecheap-sdk", "2026-11", Topic.LIMITS),
            client("https://github.com/DNSControl/dnscontrol (namecheap)", "2026-11-25", Topic.ERRORS),
        ),
        resold=("enom",),
    )
    ends = ListEnd.TOTAL
    domain_row = _Domain
    failures: ClassVar = {
        **dict.fromkeys(_ADDRESS_REFUSED, RegistrarFailure.IP_NOT_ALLOWED),
        **dict.fromkeys(_KEY_REFUSED, RegistrarFailure.AUTH_FAILED),
        **dict.fromkeys(_ACCOUNT_REFUSED, RegistrarFailure.RESTRICTED),
        **dict.fromkeys(_LIMITED, RegistrarFailure.RATE_LIMITED),
        **dict.fromkeys(("1050900", "3050900", "5019169", "5050169", "5050900"), RegistrarFailure.UNAVAILABLE),
        **dict.fromkeys(("2019166", "2016166"), RegistrarFailure.NOT_FOUND),
    }
    limits = (HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.TOO_MANY_REQUESTS)  # go-namecheap-sdk, transport.go
    auth_hint = (
        "Check API user, key and username, and that API access is switched on: Namecheap requires 20 domains, "
        "a balance of $50, or $50 spent in two years."
    )
    hints: ClassVar = {
        RegistrarFailure.IP_NOT_ALLOWED: "Allow the address {client_ip} at Namecheap: Profile, Tools, API Access.",
        RegistrarFailure.RESTRICTED: (
            "Namecheap disabled or locked this user, or counts too many declined payments: contact its support."
        ),
    }
    query: ClassVar = {
        "ApiUser": "{api_user}",
        "ApiKey": "{api_key}",
        "UserName": "{username}",
        "ClientIp": "{client_ip}",
    }

    async def read_domains(self, place: Place) -> Page[Any]:
        """Return a page of 100 domains; the list ends at the total."""
        return await self._call("namecheap.domains.getList", self._page, Page=place.number)

    def _page(self, response: ApiResponse) -> Page[Any]:
        content = self.content(response)
        result = content.find(f".//{_NAMESPACE}DomainGetListResult")
        if result is None:
            raise RegistrarFailed(RegistrarFailure.MALFORMED)
        total = read_total(content.findtext(f".//{_NAMESPACE}Paging/{_NAMESPACE}TotalItems"))
        rows = [row.attrib for row in result.iterfind(f"{_NAMESPACE}Domain")]
        return Page(rows=rows, total=total)

    async def get_domain(self, domain: str) -> RegistrarDomain:
        """Return one domain with the registrar lock; the list has the lock of changes alone."""
        page = await self._call("namecheap.domains.getList", self._page, Page=1, SearchTerm=domain)
        row = next((row for row in read_those(_Domain, page.rows) if row.domain == domain), None)
        if row is None:
            raise RegistrarFailed(RegistrarFailure.NOT_FOUND)
        content = await self._call("namecheap.domains.getRegistrarLock", self.content, DomainName=domain)
        result = content.find(f".//{_NAMESPACE}DomainGetRegistrarLockResult")
        return replace(row.held(), locked=None if result is None else read_flag(result.get("RegistrarLockStatus")))

    async def read_prices(self, suffixes: Collection[str]) -> Mapping[str, Money]:
        """Return the account's prices of one year for all suffixes."""
        del suffixes
        query = {"ProductType": "DOMAIN", "ActionName": "RENEW"}
        content = await self._call("namecheap.users.getPricing", self.content, **query)
        prices = dict[str, Money]()
        for product in content.iter(f"{_NAMESPACE}Product"):
            of_year = product.iterfind(f"{_NAMESPACE}Price[@Duration='1'][@DurationType='YEAR']")
            for row in read_those(_Price, [each.attrib for each in of_year]):
                prices[product.get("Name", "").lower()] = Money(row.amount, row.currency).quantized()
        return prices

    async def list_transfers(self, domain: str) -> Sequence[TransferRow]:
        """Return the latest incoming transfer of the domain."""
        command = "namecheap.domains.transfer.getList"
        content = await self._call(command, self.content, Page=1, SearchTerm=domain)
        rows = read_about(domain, _Transfer, [row.attrib for row in content.iter(f"{_NAMESPACE}Transfer")])
        return sorted(rows, key=lambda row: row.id)[-1:]

    async def _call(self, command: str, into: Callable[[ApiResponse], T], **query: str | int) -> T:
        query = {"Command": command, "PageSize": 100, **query}
        return await self.send("GET", "/xml.response", into=into, query=query)

    def content(self, response: ApiResponse) -> Any:
        """Return the document. Raise RegistrarFailed for an error, which has a number."""
        root = response.xml()
        if root.tag != f"{_NAMESPACE}ApiResponse":
            raise RegistrarFailed(RegistrarFailure.MALFORMED)
        if root.get("Status") == "OK":
            return root
        error = root.find(f"{_NAMESPACE}Errors/{_NAMESPACE}Error")
        if error is None:
            raise RegistrarFailed(RegistrarFailure.MALFORMED)
        raise self.failure(error.get("Number", ""), text=error.text)
