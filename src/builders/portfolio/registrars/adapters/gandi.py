"""Gandi (https://api.gandi.net/docs/domains/): domains and codes; no bills by API that could be confirmed."""

from dataclasses import replace
from typing import ClassVar

from pydantic import AliasChoices, AliasPath, RootModel

from builders.portfolio.registrars.adapter import Adapter, ListEnd, Page, Place
from builders.portfolio.registrars.api_client import ApiResponse, read
from builders.portfolio.registrars.records import CredentialField, HeldDomain, HeldStatus, Profile, Quota
from builders.portfolio.registrars.rows import DomainRow, Rows, named, read_total

_LOCKS = {"clientTransferProhibited", "serverTransferProhibited"}
# The first one that a domain has decides.
_STATUSES = (
    ("pendingDelete", HeldStatus.PENDING_DELETE),
    ("redemptionPeriod", HeldStatus.REDEMPTION),
    ("pendingTransfer", HeldStatus.TRANSFERRING_OUT),
    ("clientHold", HeldStatus.SUSPENDED),
    ("serverHold", HeldStatus.SUSPENDED),
)


class _Domain(DomainRow):
    model_config = named(
        domain="fqdn",
        expires_at=AliasPath("dates", "registry_ends_at"),
        created_at=AliasPath("dates", "registry_created_at"),
        # The list and the details have other forms.
        auto_renew=AliasChoices(AliasPath("autorenew", "enabled"), "autorenew"),
        nameservers=AliasChoices(AliasPath("nameserver", "hosts"), "nameservers"),
    )
    status: Rows[str] = ()

    def held(self) -> HeldDomain:
        """Read the EPP statuses."""
        return replace(
            super().held(),
            locked=not _LOCKS.isdisjoint(self.status),
            status=next((held for name, held in _STATUSES if name in self.status), HeldStatus.UNKNOWN),
            status_raw=", ".join(self.status) or None,
        )


class _Domains(RootModel[Rows[_Domain]]):
    pass


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
        requires="a token that can read domains; tokens expire",
    )
    ends = ListEnd.TOTAL
    domain_row = _Domain
    domain_path = code_path = "/domain/domains/{domain}"
    headers: ClassVar = {"Authorization": "Bearer {token}"}
    auth_hint = "Check the token, its end date, and that it may see the organization's domains."

    async def read_domains(self, place: Place) -> Page[_Domain]:
        """Return a page of at most 500 domains; the list ends at the total."""
        query = {"page": place.number, "per_page": 500}
        return await self.send("GET", "/domain/domains", into=self._page, query=query)

    def _page(self, response: ApiResponse) -> Page[_Domain]:
        rows = read(_Domains, self.content(response)).root
        return Page(rows=rows, total=read_total(response.headers.get("Total-Count")))
