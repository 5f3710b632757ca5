"""Dynadot (https://www.dynadot.com/domain/api-document): REST 2, in beta, with signed requests.

Known from other clients, not from documentation: the encoding of the signature. The order history is not
documented, so bills come from CSV.
"""

import hmac
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import urlencode

from pydantic import BaseModel, BeforeValidator, Field, TypeAdapter

from builders.portfolio.registrars.adapter import Adapter, Flag, Rows, a_label, convert
from builders.portfolio.registrars.api_client import ApiClient, ApiResponse, T, read
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

_PREFIX = "/restful/v2"
_PER_PAGE = 100
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KEY_REFUSED = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
_PRIVACY = {"full privacy": True, "partial privacy": True, "privacy off": False}
_STATUSES = {
    "active": HeldStatus.ACTIVE,
    "expired": HeldStatus.EXPIRED,
    "redemption": HeldStatus.REDEMPTION,
}


def _instant(value: object) -> object:
    """Return the time of a number of milliseconds, also written as text; None for none."""
    if value is None or value == "":
        return None
    return _EPOCH + timedelta(milliseconds=int(str(value)))


_Millis = Annotated[datetime | None, BeforeValidator(_instant)]


class _Server(BaseModel):
    server_name: str


class _Glue(BaseModel):
    nameserver_list: Rows[_Server] = ()


class _Domain(BaseModel):
    domain_name: str
    registration_date: _Millis = None
    expiration_date: _Millis = None
    locked: Flag = None
    privacy: str | None = None
    renew_option: str | None = None
    status: str | None = None
    glue_info: _Glue | None = None


class _Domains(BaseModel):
    domain_info_list: Rows[_Domain]


class _Info(BaseModel):
    domain_info: Rows[_Domain] = ()


class _Code(BaseModel):
    auth_code: str = Field(repr=False)


class _Error(BaseModel):
    code: int | str = ""
    description: str = ""


class _Envelope(BaseModel):
    code: int = HTTPStatus.OK
    data: Any = None
    error: _Error | None = None


_ENVELOPE = TypeAdapter(_Envelope)
_DOMAINS = TypeAdapter(_Domains)
_INFO = TypeAdapter(_Info)
_CODE = TypeAdapter(_Code)


class Dynadot(Adapter):
    """An account at Dynadot."""

    profile = Profile(
        provider="dynadot",
        label="Dynadot",
        base_urls={
            Environment.LIVE: "https://api.dynadot.com",
            Environment.SANDBOX: "https://api-sandbox.dynadot.com",
        },
        live_domains=("dynadot.com",),
        credential_fields=(
            CredentialField(name="api_key", label="API key"),
            CredentialField(name="api_secret", label="API secret"),
        ),
        capabilities=Capabilities(auth_code=AuthCodeDelivery.RETURNED, sandbox=True),
        quota=Quota(requests=60, window_s=60),
        dashboard_url="https://www.dynadot.com/account/domain/name/list.html",
        list_end=(
            "an empty page: no total is documented (`page` and `page_size` of "
            "www.dynadot.com/domain/api-document, November 2026)"
        ),
        is_verified=False,
    )

    def __init__(self, api: ApiClient, *, credentials: Mapping[str, str]) -> None:
        super().__init__(api, credentials=credentials)
        self._secret = credentials["api_secret"].encode()

    async def list_domains(self) -> AsyncIterator[Sequence[HeldDomain]]:
        """Yield pages of at most 100 domains; an empty page ends the list."""
        page = 1
        while True:
            query = urlencode({"page": page, "page_size": _PER_PAGE, "status": "all"})
            rows = (await self._get(f"/domains?{query}", _DOMAINS)).domain_info_list
            yield await convert(rows, _held)
            if not rows:
                return
            page += 1

    async def get_domain(self, domain: str) -> HeldDomain:
        """Return one domain."""
        found = await self._get(f"/domains/{domain}", _INFO)
        if not found.domain_info:
            raise RegistrarFailed(RegistrarFailure.NOT_FOUND)
        return _held(found.domain_info[0])

    async def get_auth_code(self, domain: str) -> AuthCode:
        """Return the authorization code."""
        found = await self._get(f"/domains/{domain}/transfer_auth_code", _CODE)
        return AuthCode(delivery=AuthCodeDelivery.RETURNED, code=found.auth_code)

    async def _get(self, path: str, form: TypeAdapter[T]) -> T:
        def into(response: ApiResponse) -> T:
            return read(form, _checked(response))

        written = f"{_PREFIX}{path}"
        key = self._credentials["api_key"]
        signature = hmac.digest(self._secret, f"{key}\n{written}\n\n".encode(), "sha256")
        headers = {
            "Authorization": f"Bearer {key}",
            "Accept": "application/json",
            "X-Signature": b64encode(signature).decode(),
        }
        return await self._api.get(written, into=into, headers=headers)


def _checked(response: ApiResponse) -> object:
    """Return `data`. Raise RegistrarFailed for an error, which can come with HTTP 200."""
    envelope = read(_ENVELOPE, response.json())
    status = max(response.status, envelope.code)
    if envelope.error is None and status < HTTPStatus.BAD_REQUEST:
        return envelope.data
    code = str(envelope.error.code) if envelope.error else str(status)
    if status in _KEY_REFUSED:
        hint = "Check key and secret, and that this service's address is allowed in Dynadot's API settings."
        raise RegistrarFailed(RegistrarFailure.AUTH_FAILED, code=code, hint=hint)
    if status == HTTPStatus.NOT_FOUND:
        raise RegistrarFailed(RegistrarFailure.NOT_FOUND, code=code)
    raise RegistrarFailed(RegistrarFailure.REFUSED, code=code)


def _held(row: _Domain) -> HeldDomain:
    return HeldDomain(
        domain=a_label(row.domain_name),
        expires_at=row.expiration_date,
        created_at=row.registration_date,
        auto_renew=None if row.renew_option is None else row.renew_option.lower().startswith("auto"),
        locked=row.locked,
        privacy=_PRIVACY.get((row.privacy or "").lower()),
        status=_STATUSES.get((row.status or "").lower(), HeldStatus.UNKNOWN),
        status_raw=row.status,
        nameservers=[each.server_name for each in row.glue_info.nameserver_list] if row.glue_info else None,
    )
