"""Spaceship (https://docs.spaceship.dev/): domains, transfers and codes; no bills by API."""

from dataclasses import replace
from typing import ClassVar

from pydantic import AliasPath

from builders.portfolio.registrars.adapter import Adapter, ListEnd, Page, Place
from builders.portfolio.registrars.records import CredentialField, HeldDomain, Profile, Quota
from builders.portfolio.registrars.rows import DomainRow, Row, Rows, TransferRow, named

_LOCKS = {"clientTransferProhibited", "serverTransferProhibited"}


class _Domain(DomainRow):
    model_config = named(
        domain="name",
        expires_at="expirationDate",
        created_at="registrationDate",
        auto_renew="autoRenew",
        status_raw="lifecycleStatus",
        epp_statuses="eppStatuses",
        privacy_level=AliasPath("privacyProtection", "level"),
        nameservers=AliasPath("nameservers", "hosts"),
    )
    epp_statuses: tuple[str, ...] | None = None
    privacy_level: str | None = None

    def held(self) -> HeldDomain:
        """Read the locks and the level of privacy."""
        return replace(
            super().held(),
            locked=None if self.epp_statuses is None else not _LOCKS.isdisjoint(self.epp_statuses),
            privacy=None if self.privacy_level is None else self.privacy_level != "public",
        )


class _Domains(Row):
    items: Rows[_Domain]
    total: int


class _Transfer(TransferRow):
    model_config = named(
        status_raw="status", is_out="direction", started_at="startedAt", completed_at="finishedAt"
    )


class Spaceship(Adapter):
    """An account at Spaceship."""

    profile = Profile(
        provider="spaceship",
        label="Spaceship",
        url="https://spaceship.dev/api/v1",
        live_domains=("spaceship.dev", "spaceship.com"),
        credential_fields=(
            CredentialField(name="api_key", label="API key"),
            CredentialField(name="api_secret", label="API secret"),
        ),
        quota=Quota(requests=300, window_s=300),
        dashboard_url="https://www.spaceship.com/application/domain-list-application/",
        list_end="as many rows as `total` of each page (docs.spaceship.dev, Get domain list, November 2026)",
        place="spaceship.com, API manager",
        requires="a key that can read and write domains and transfers",
        aliases=("spaceshipcom",),
    )
    ends = ListEnd.TOTAL
    domain_row = _Domain
    domain_path = "/domains/{domain}"
    code_path = "/domains/{domain}/transfer/auth-code"
    transfer_row = _Transfer
    transfer_path = "/domains/{domain}/transfer"
    headers: ClassVar = {"X-Api-Key": "{api_key}", "X-Api-Secret": "{api_secret}"}
    auth_hint = "Check key and secret, and that the key has the scopes for domains and transfers."

    async def read_domains(self, place: Place) -> Page[_Domain]:
        """Return a page of 100 domains; the list ends at the total."""
        page = await self.call(_Domains, "/domains", take=100, skip=place.start)
        return Page(rows=page.items, total=page.total)

    async def set_auto_renew(self, domain: str, *, enabled: bool) -> None:
        """Switch automatic renewal on or off."""
        path, body = f"/domains/{domain}/autorenew", {"isEnabled": enabled}
        await self.send("PUT", path, into=self.content, json=body, reads=False)
