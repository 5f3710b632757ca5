"""Dynadot (https://www.dynadot.com/domain/api-document): REST 2, in beta, with signed requests.

Known from other clients, not from documentation: the encoding of the signature. The order history is not
documented, so bills come from CSV.
"""

import hmac
from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any

from pydantic import AliasPath, BaseModel, BeforeValidator

from builders.portfolio.registrars.adapter import Adapter, Headers, ListEnd, Page, Place
from builders.portfolio.registrars.api_client import ApiResponse, read
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import CredentialField, HeldDomain, Profile, Quota
from builders.portfolio.registrars.rows import DomainRow, Rows, named

_PREFIX = "/restful/v2"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PRIVACY = {"full privacy": True, "partial privacy": True, "privacy off": False}


def _instant(value: object) -> object:
    """Return the time of a number of milliseconds, also written as text; None for none."""
    if value is None or value == "":
        return None
    return _EPOCH + timedelta(milliseconds=int(str(value)))


_Millis = Annotated[datetime | None, BeforeValidator(_instant)]


class _Server(BaseModel):
    server_name: str


class _Domain(DomainRow):
    model_config = named(
        domain="domain_name",
        expires_at="expiration_date",
        created_at="registration_date",
        privacy_option="privacy",
        status_raw="status",
        servers=AliasPath("glue_info", "nameserver_list"),
    )
    expires_at: _Millis = None
    created_at: _Millis = None
    privacy_option: str | None = None
    renew_option: str | None = None
    servers: tuple[_Server, ...] | None = None

    def held(self) -> HeldDomain:
        """Read the options, which are words."""
        return replace(
            super().held(),
            auto_renew=None if self.renew_option is None else self.renew_option.lower().startswith("auto"),
            privacy=_PRIVACY.get((self.privacy_option or "").lower()),
            nameservers=None if self.servers is None else [each.server_name for each in self.servers],
        )


class _Domains(BaseModel):
    domain_info_list: Rows[_Domain]


class _Info(BaseModel):
    domain_info: Rows[_Domain] = ()


class _Error(BaseModel):
    code: int | str = ""


class _Envelope(BaseModel):
    code: int = HTTPStatus.OK
    data: Any = None
    error: _Error | None = None


class Dynadot(Adapter):
    """An account at Dynadot."""

    profile = Profile(
        provider="dynadot",
        label="Dynadot",
        url="https://api.dynadot.com",
        sandbox_url="https://api-sandbox.dynadot.com",
        live_domains=("dynadot.com",),
        credential_fields=(
            CredentialField(name="api_key", label="API key"),
            CredentialField(name="api_secret", label="API secret"),
        ),
        quota=Quota(requests=60, window_s=60),
        dashboard_url="https://www.dynadot.com/account/domain/name/list.html",
        list_end=(
            "an empty page: no total is documented (`page` and `page_size` of "
            "www.dynadot.com/domain/api-document, November 2026)"
        ),
        place="dynadot.com, Tools, API",
        requires="can be bound to addresses",
    )
    ends = ListEnd.EMPTY
    code_path = "/restful/v2/domains/{domain}/transfer_auth_code"
    auth_hint = "Check key and secret, and that this service's address is allowed in Dynadot's API settings."

    async def read_domains(self, place: Place) -> Page[_Domain]:
        """Return a page of at most 100 domains; an empty page ends the list."""
        page = await self.call(_Domains, f"{_PREFIX}/domains", page=place.number, page_size=100, status="all")
        return Page(rows=page.domain_info_list)

    async def get_domain(self, domain: str) -> HeldDomain:
        """Return one domain."""
        rows = (await self.call(_Info, f"{_PREFIX}/domains/{domain}")).domain_info
        if not rows:
            raise RegistrarFailed(RegistrarFailure.NOT_FOUND)
        return rows[0].held()

    def sign(self, method: str, target: str, *, headers: Headers, body: bytes | None) -> Headers:
        """Sign key and path by the secret."""
        del method, body
        key, secret = self._credentials["api_key"], self._credentials["api_secret"]
        signature = hmac.digest(secret.encode(), f"{key}\n{target}\n\n".encode(), "sha256")
        return {
            **headers,
            "Authorization": f"Bearer {key}",
            "Accept": "application/json",
            "X-Signature": b64encode(signature).decode(),
        }

    def content(self, response: ApiResponse) -> Any:
        """Return `data`. Raise RegistrarFailed for an error, which can come with HTTP 200."""
        envelope = read(_Envelope, response.json())
        status = max(response.status, envelope.code)
        if envelope.error is None and status < HTTPStatus.BAD_REQUEST:
            return envelope.data
        raise self.failure(str(envelope.error.code if envelope.error else status), status=status)
