"""Sav (https://documenter.getpostman.com/view/9688716/TzzANHFJ): domains and the switch for auto-renew.

The document shows no response. Lock and bills are not in what other clients read, and no client shows the form
of the prices, so that none are read.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, Field

from builders.portfolio.registrars.adapter import Adapter, ListEnd, Page, Place
from builders.portfolio.registrars.api_client import ApiResponse, read
from builders.portfolio.registrars.failures import RegistrarFailure
from builders.portfolio.registrars.records import Capabilities, CredentialField, Profile, Quota, RegistrarDomain
from builders.portfolio.registrars.rows import DomainRow, Flag, named, time_by
from builders.portfolio.registrars.sources import Topic, client, document

# The time of a number of seconds, which is written as text.
_Instant = Annotated[datetime | None, time_by(lambda text: datetime.fromtimestamp(int(text), UTC))]


class _Domain(DomainRow):
    model_config = named(
        domain="domain_name",
        expires_at="date_expiration",
        created_at="date_registered",
        auto_renew="auto_renew_enabled",
        privacy="whois_privacy_enabled",
        status_raw="internal_status",
    )
    expires_at: _Instant = None
    created_at: _Instant = None
    ns_1: str | None = None
    ns_2: str | None = None
    ns_3: str | None = None
    ns_4: str | None = None

    def held(self) -> RegistrarDomain:
        """Collect the name servers."""
        servers: Sequence[str] = [each for each in (self.ns_1, self.ns_2, self.ns_3, self.ns_4) if each]
        return replace(super().held(), nameservers=servers or None)


class _Reply(BaseModel):
    """The envelope of every response."""

    request_success: Flag
    error_message: str | None = None
    response: Any = None


class _Domains(BaseModel):
    domains: tuple[Any, ...]
    count: int | None = Field(default=None, validation_alias="domain_count")


class Sav(Adapter):
    """An account at Sav."""

    profile = Profile(
        provider="sav",
        label="Sav",
        url="https://api.sav.com/domains_api_v1",
        live_domains=("sav.com",),
        credential_fields=(CredentialField(name="api_key", label="API key"),),
        quota=Quota(requests=30, window_s=60),  # not documented
        dashboard_url="https://www.sav.com/domains",
        list_end=(
            "as many rows as `domain_count` of the one response, without pages; the registrar's document does not "
            "show it (github.com/raycast/extensions, sav, November 2026)"
        ),
        place="on request from support@sav.com",
        requires="support@sav.com allows the address of the service for the key",
        aliases=("savcom",),
        capabilities=Capabilities(lock=False),
        sources=(
            document(
                "https://documenter.getpostman.com/view/9688716/TzzANHFJ",
                "2026-11-22",
                *(Topic.AUTHENTICATION, Topic.SWITCH, Topic.ERRORS),
            ),
            client(
                "https://github.com/raycast/extensions/tree/main/extensions/sav",
                "2026-11-22",
                *(Topic.AUTHENTICATION, Topic.PAGES, Topic.STATES, Topic.AUTO_RENEW, Topic.SWITCH, Topic.ERRORS),
            ),
        ),
    )
    ends = ListEnd.CURSOR  # of the one page
    domain_row = _Domain
    headers: ClassVar = {"APIKEY": "{api_key}"}
    words: ClassVar = {"could not find domain": RegistrarFailure.NOT_FOUND}  # it is of another account
    auth_hint = "Check the key, and ask support@sav.com to allow the outgoing address of this service for it."

    async def read_domains(self, place: Place) -> Page[Any]:
        """Return all domains of the account."""
        del place
        page = await self.call(_Domains, "/get_active_domains_in_account")
        return Page(rows=page.domains, total=page.count, is_cut=page.count is None)

    async def set_auto_renew(self, domain: str, *, enabled: bool) -> None:
        """Switch automatic renewal on or off."""
        path, query = "/update_domain_auto_renewal", {"domain_name": domain, "enabled": str(int(enabled))}
        await self.send("GET", path, into=self.content, query=query, reads=False)

    def content(self, response: ApiResponse) -> Any:
        """Return what is in the envelope. Raise RegistrarFailed unless it says success."""
        if response.status == HTTPStatus.UNAUTHORIZED:
            raise self.error_of(response)
        reply = read(_Reply, response.json())
        if response.status < HTTPStatus.BAD_REQUEST and reply.request_success:
            return reply.response
        raise self.failure(str(response.status), status=response.status, text=reply.error_message)
