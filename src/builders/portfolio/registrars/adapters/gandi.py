"""Gandi (https://api.gandi.net/docs/domains/, /docs/billing/): domains, prices and codes; its API has no bills."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from pydantic import AliasChoices, AliasPath, BaseModel, Field, RootModel

from builders.kit.values.money import Money
from builders.portfolio.registrars.adapter import Adapter, ListEnd, Page, Place
from builders.portfolio.registrars.api_client import ApiResponse, read
from builders.portfolio.registrars.failures import RegistrarFailed
from builders.portfolio.registrars.records import CredentialField, HeldStatus, Profile, Quota, RegistrarDomain
from builders.portfolio.registrars.rows import AmountOfFloat, DomainRow, Rows, named, read_total
from builders.portfolio.registrars.sources import Topic, client, document


class _Domain(DomainRow):
    model_config = named(
        domain="fqdn",
        expires_at=AliasPath("dates", "registry_ends_at"),
        created_at=AliasPath("dates", "registry_created_at"),
        # The list and the details have other forms.
        auto_renew=AliasChoices(AliasPath("autorenew", "enabled"), "autorenew"),
        nameservers=AliasChoices(AliasPath("nameserver", "hosts"), "nameservers"),
        epp="status",
    )

    def held(self) -> RegistrarDomain:
        """Read the EPP statuses: a domain with none of a state is active."""
        held = super().held()
        is_active = held.status is HeldStatus.UNKNOWN and self.epp is not None
        return replace(held, status=HeldStatus.ACTIVE) if is_active else held


class _Domains(RootModel[tuple[Any, ...]]):
    pass


class _Renewal(BaseModel):
    """The settings of auto-renew beside the switch; absent ones are not set yet."""

    duration: int | None = Field(default=None, validation_alias=AliasPath("autorenew", "duration"))  # years
    org_id: str | None = Field(default=None, validation_alias=AliasPath("autorenew", "org_id"))  # it pays
    owner_id: str | None = Field(default=None, validation_alias=AliasPath("sharing_space", "id"))

    def settings(self) -> Mapping[str, Any]:
        """Return those that are known; by default the organization of the domain pays."""
        known = {"duration": self.duration, "org_id": self.org_id or self.owner_id}
        return {name: value for name, value in known.items() if value is not None}


class _Price(BaseModel):
    unit: str = Field(default="", validation_alias="duration_unit")
    from_years: int = Field(default=1, validation_alias="min_duration")
    net: AmountOfFloat | None = Field(default=None, validation_alias="price_before_taxes")


class _Product(BaseModel):
    process: str = ""
    prices: Rows[_Price] = ()


class _Prices(BaseModel):
    currency: str
    products: Rows[_Product] = ()


class Gandi(Adapter):
    """An organization at Gandi."""

    profile = Profile(
        provider="gandi",
        label="Gandi",
        url="https://api.gandi.net/v5",
        sandbox_url="https://api.sandbox.gandi.net/v5",
        live_domains=("gandi.net",),
        credential_fields=(CredentialField(name="token", label="Personal access token"),),
        quota=Quota(requests=300, window_s=60),
        dashboard_url="https://admin.gandi.net/domain/",
        list_end="as many rows as the header `Total-Count` of each page (api.gandi.net/docs, November 2026)",
        place="admin.gandi.net, Organization, personal access tokens",
        requires="a token that can read domains, and manage them to set auto-renew; tokens expire",
        sources=(
            document(
                "https://api.gandi.net/docs/domains/",
                "2026-11",
                *(Topic.AUTHENTICATION, Topic.PAGES, Topic.STATES, Topic.AUTO_RENEW, Topic.LOCK, Topic.SWITCH),
                *(Topic.AUTH_CODES, Topic.SANDBOX),
            ),
            document("https://api.gandi.net/docs/billing/", "2026-11-22", Topic.PRICES, Topic.ERRORS),
            client(
                "https://www.rubydoc.info/gems/gandi_v5/0.3.0/GandiV5/Domain/AutoRenew", "2026-11-22", Topic.SWITCH
            ),
        ),
    )
    ends = ListEnd.TOTAL
    domain_row = _Domain
    domain_path = code_path = "/domain/domains/{domain}"
    headers: ClassVar = {"Authorization": "Bearer {token}"}
    auth_hint = "Check the token, its end date, and that it may see the organization's domains."

    async def read_domains(self, place: Place) -> Page[Any]:
        """Return a page of at most 500 domains; the list ends at the total."""
        query = {"page": place.number, "per_page": 500}
        return await self.send("GET", "/domain/domains", into=self._page, query=query)

    async def read_prices(self, suffixes: Collection[str]) -> Mapping[str, Money]:
        """Return the prices of a year before taxes; each suffix is a request."""
        found = {suffix: await self._read_price(suffix) for suffix in sorted(suffixes)}
        return {suffix: price for suffix, price in found.items() if price is not None}

    async def _read_price(self, suffix: str) -> Money | None:
        try:
            page = await self.call(_Prices, "/billing/price/domain", name=f"example.{suffix}", processes="renew")
        except RegistrarFailed as failed:
            if failed.is_of_item:  # the suffix
                return None
            raise
        prices = [price for each in page.products if each.process == "renew" for price in each.prices]
        of_a_year = (each.net for each in prices if each.unit == "y" and each.from_years == 1)
        net = next((each for each in of_a_year if each is not None), None)
        return None if net is None else Money(net, page.currency).quantized()

    async def set_auto_renew(self, domain: str, *, enabled: bool) -> None:
        """Switch automatic renewal on or off; its duration, and the organization that pays, stay."""
        path = self.path("/domain/domains/{domain}", domain)
        settings = (await self.call(_Renewal, path)).settings()
        body = {"enabled": enabled, **settings}
        await self.send("PATCH", f"{path}/autorenew", into=self.content, json=body, reads=False)

    def _page(self, response: ApiResponse) -> Page[Any]:
        rows = read(_Domains, self.content(response)).root
        return Page(rows=rows, total=read_total(response.headers.get("Total-Count")))
