"""Porkbun (https://porkbun.com/api/json/v3/documentation): domains and incoming transfers; no order history."""

from collections.abc import Sequence
from typing import Any, ClassVar

from builders.portfolio.registrars.adapter import Adapter, ListEnd, Page, Place
from builders.portfolio.registrars.api_client import ApiResponse, Model, read
from builders.portfolio.registrars.failures import RegistrarFailure
from builders.portfolio.registrars.records import CredentialField, Profile, Quota
from builders.portfolio.registrars.rows import DomainRow, Row, Rows, TransferRow, named


class _Domain(DomainRow):
    model_config = named(  # flags are 0, 1, "0" or "1"
        expires_at="expireDate",
        created_at="createDate",
        auto_renew="autoRenew",
        locked="securityLock",
        privacy="whoisPrivacy",
        status_raw="status",
    )


class _Transfer(TransferRow):
    model_config = named(status_raw="status", started_at="transferDate", message="statusDescription")


class _Reply(Row):
    """The members of every response; errors have status ERROR and a code, also with HTTP 200."""

    status: str
    code: str | None = None
    ttl_remaining: float | None = None  # seconds


class _Domains(Row):
    domains: Rows[_Domain]


class _Transfers(Row):
    transfers: Rows[_Transfer] = ()


class Porkbun(Adapter):
    """An account at Porkbun."""

    profile = Profile(
        provider="porkbun",
        label="Porkbun",
        url="https://api.porkbun.com/api/json/v3",
        live_domains=("porkbun.com",),
        credential_fields=(
            CredentialField(name="api_key", label="API key"),
            CredentialField(name="secret_api_key", label="Secret API key"),
        ),
        quota=Quota(requests=60, window_s=60),
        dashboard_url="https://porkbun.com/account/domainsSpeedy",
        list_end=(
            'an empty list: "increment by 1000 until you receive an empty array" '
            "(porkbun.com/api/json/v3/documentation, Domain List All, November 2026)"
        ),
        place="porkbun.com, Account, API access",
        aliases=("porkbuncom",),
    )
    ends = ListEnd.EMPTY
    failures: ClassVar = {
        **dict.fromkeys(("INVALID_API_KEYS_001", "API_KEY_REQUIRED"), RegistrarFailure.AUTH_FAILED),
        **dict.fromkeys(("DOMAIN_NOT_FOUND", "INVALID_DOMAIN"), RegistrarFailure.NOT_FOUND),
        "RATE_LIMIT_EXCEEDED": RegistrarFailure.RATE_LIMITED,
    }
    auth_hint = "Check both keys, and that API access is switched on for the account."

    async def read_domains(self, place: Place) -> Page[_Domain]:
        """Return at most 1,000 domains from the index behind the page before; an empty page ends the list."""
        return Page(rows=(await self._post(_Domains, "/domain/listAll", start=str(place.start))).domains)

    async def list_transfers(self, domain: str) -> Sequence[TransferRow]:
        """Return the incoming transfers of the domain."""
        found = await self._post(_Transfers, "/domain/listTransfers")
        return [row for row in found.transfers if row.domain == domain]

    async def _post(self, form: type[Model], path: str, **members: str) -> Model:
        keys = {"apikey": self._credentials["api_key"], "secretapikey": self._credentials["secret_api_key"]}
        return await self.send("POST", path, into=self.reader(form), json={**keys, **members})

    def content(self, response: ApiResponse) -> Any:
        """Raise RegistrarFailed unless the status in the body is SUCCESS."""
        body = response.json()
        reply = read(_Reply, body)
        if reply.status != "SUCCESS":
            raise self.failure(reply.code or "", status=response.status, retry_after_s=reply.ttl_remaining)
        return body
