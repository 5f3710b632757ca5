"""INWX (https://www.inwx.de/en/help/apidoc): JSON-RPC with a session; its log of charges names no currency."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, ClassVar

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field

from builders.kit.values.money import Money
from builders.portfolio.registrars.adapter import Adapter, ListEnd, Page, Place
from builders.portfolio.registrars.api_client import ApiClient, ApiResponse, Model, read
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.items import read_those
from builders.portfolio.registrars.records import (
    AuthCode,
    CredentialField,
    HeldStatus,
    Profile,
    Quota,
    RegistrarDomain,
)
from builders.portfolio.registrars.rows import AmountOfFloat, CodeRow, DomainRow, named, read_time
from builders.portfolio.registrars.sources import Topic, client, document

_RENEWS = {"AUTORENEW": True, "AUTOEXPIRE": False, "AUTODELETE": False}
_SUCCESS = {1000, 1001}  # done; accepted
_NO_SECOND_FACTOR = {None, "", "0"}
_COOKIE = re.compile(r"[\x21-\x3a\x3c-\x7e]+")  # name and value, before the attributes


def _instant(value: object) -> datetime | None:
    """Return the time of a text, or of the object that stands for an XML-RPC time."""
    return read_time(value.get("scalar") if isinstance(value, dict) else value)


_Instant = Annotated[datetime | None, BeforeValidator(_instant)]


class _Domain(DomainRow):
    model_config = named(
        domain=AliasChoices("domain-ace", "domain"),
        expires_at="exDate",
        created_at="crDate",
        locked="transferLock",
        status_raw="status",
        nameservers="ns",
        renewal_mode="renewalMode",
    )
    states: ClassVar = {  # of the document's `message_status`
        **dict.fromkeys(("expire initiated", "expire successful"), HeldStatus.EXPIRED),
        "delete initiated": HeldStatus.REDEMPTION,  # "in which a restore is possible": `restorePeriod2`
        **dict.fromkeys(("delete successful", "transfer-out successful"), HeldStatus.GONE),
        **dict.fromkeys(("transfer-out requested", "transfer-out scheduled"), HeldStatus.TRANSFERRING_OUT),
        **dict.fromkeys(("reg initiated", "reg requested"), HeldStatus.PENDING),
        **dict.fromkeys(("transfer initiated", "transfer requested"), HeldStatus.PENDING),
    }
    expires_at: _Instant = None
    created_at: _Instant = None
    renewal_mode: str | None = None

    def held(self) -> RegistrarDomain:
        """Read the mode of renewal."""
        return replace(super().held(), auto_renew=_RENEWS.get((self.renewal_mode or "").upper()))


class _Domains(BaseModel):
    domain: tuple[Any, ...]
    count: int


class _Price(BaseModel):
    tld: str
    currency: str
    renewal_price: AmountOfFloat | None = Field(default=None, validation_alias="renewalPrice")  # of a year


class _Prices(BaseModel):
    price: tuple[Any, ...] = ()


class _Login(BaseModel):
    tfa: str | None = None  # the second factor, "0" for none


class _Reply(BaseModel):
    """The members of every response; errors have HTTP 200."""

    code: int
    msg: str = ""
    reason: str = ""
    content: Any = Field(default=None, validation_alias="resData")


class Inwx(Adapter):
    """An account at INWX."""

    profile = Profile(
        provider="inwx",
        label="INWX",
        url="https://api.domrobot.com",
        sandbox_url="https://api.ote.domrobot.com",
        live_domains=("domrobot.com", "inwx.com", "inwx.de"),
        credential_fields=(
            CredentialField(name="username", label="Username", is_secret=False),
            CredentialField(name="password", label="Password"),
        ),
        quota=Quota(requests=60, window_s=60),  # not documented
        dashboard_url="https://www.inwx.com/en/domain",
        list_end="as many rows as `count` of each page (www.inwx.de/en/help/apidoc, domain.list, November 2026)",
        place="inwx.com, Account management: a sub-account for this service",
        requires="an account without a second factor, with the roles for domains and for auth codes",
        aliases=("inwxgmbhcokg",),
        sources=(
            document(
                "https://www.inwx.de/en/help/apidoc",
                "2026-11-22",
                *(Topic.AUTHENTICATION, Topic.PAGES, Topic.STATES, Topic.AUTO_RENEW, Topic.LOCK, Topic.SWITCH),
                *(Topic.PRICES, Topic.AUTH_CODES, Topic.SANDBOX),
            ),
            client("https://github.com/nmeilick/inwx-cli", "2026-11-22", Topic.AUTHENTICATION, Topic.ERRORS),
            client("https://github.com/inwx/terraform-provider-inwx", "2026-11-22", Topic.SWITCH, Topic.LOCK),
        ),
    )
    ends = ListEnd.TOTAL
    domain_row = _Domain
    failures: ClassVar = {
        **dict.fromkeys(("2200", "2501"), RegistrarFailure.AUTH_FAILED),
        "2201": RegistrarFailure.RESTRICTED,  # the account lacks a role
        "2303": RegistrarFailure.NOT_FOUND,
        # An internal error of the server (RFC 5730, 3).
        **dict.fromkeys(("2400", "2500"), RegistrarFailure.UNAVAILABLE),
        "2502": RegistrarFailure.RATE_LIMITED,  # sessions
    }
    hints: ClassVar = {
        RegistrarFailure.RESTRICTED: "Give the account the roles for domains and for auth codes at INWX."
    }
    auth_hint = "Check username and password, and use an account without a second factor for this service."

    def __init__(self, api: ApiClient, *, credentials: Mapping[str, str]) -> None:
        super().__init__(api, credentials=credentials)
        self._session: str | None = None

    async def read_domains(self, place: Place) -> Page[Any]:
        """Return a page of 250 domains; the list ends at the total."""
        page = await self._ask(_Domains, "domain.list", page=place.number, pagelimit=250)
        return Page(rows=page.domain, total=page.count)

    async def get_domain(self, domain: str) -> RegistrarDomain:
        """Return the domain from a list of it alone."""
        page = await self._ask(_Domains, "domain.list", domain=domain)
        for row in read_those(_Domain, page.domain):
            if row.domain == domain:
                return row.held()
        raise RegistrarFailed(RegistrarFailure.NOT_FOUND)

    async def read_prices(self, suffixes: Collection[str]) -> Mapping[str, Money]:
        """Return the prices of a year without tax."""
        found = await self._ask(_Prices, "domain.getPrices", tld=sorted(suffixes), vat=False)
        rows = read_those(_Price, found.price)
        priced = [(each.tld.lower(), each.renewal_price, each.currency) for each in rows]
        return {tld: Money(price, currency).quantized() for tld, price, currency in priced if price is not None}

    async def get_auth_code(self, domain: str) -> AuthCode:
        """Return the code; none is shown without the role for it."""
        row = await self._ask(CodeRow, "domain.info", domain=domain)
        if row.auth_code is None:
            hint = "Give the account the role for auth codes at INWX, or request the code on its website."
            raise RegistrarFailed(RegistrarFailure.REFUSED, hint=hint)
        return row.code()

    async def set_auto_renew(self, domain: str, *, enabled: bool) -> None:
        """Let the domain renew, or expire; the mode that deletes it is never set."""
        mode = "AUTORENEW" if enabled else "AUTOEXPIRE"
        await self._call("domain.update", {"domain": domain, "renewalMode": mode}, reads=False)

    async def _ask(self, form: type[Model], method: str, **params: Any) -> Model:
        return read(form, await self._call(method, params))

    async def _call(self, method: str, params: Mapping[str, Any], *, reads: bool = True) -> Any:
        """Return the content of the response to a method, after a login where there was none."""
        if self._session is None:
            pair = {"user": self._credentials["username"], "pass": self._credentials["password"]}
            self._session = await self._post("account.login", pair, into=self._read_session, reads=reads)
        headers = {"Cookie": self._session}
        return await self._post(method, params, into=self.content, headers=headers, reads=reads)

    async def _post(self, method: str, params: Mapping[str, Any], **more: Any) -> Any:
        return await self.send("POST", "/jsonrpc/", json={"method": method, "params": params}, **more)

    def _read_session(self, response: ApiResponse) -> str:
        """Return the cookie of the session. Raise RegistrarFailed for an account with a second factor."""
        if read(_Login, self.content(response)).tfa not in _NO_SECOND_FACTOR:
            raise RegistrarFailed(RegistrarFailure.AUTH_FAILED, hint=self.auth_hint)
        cookie = response.headers.get("Set-Cookie", "").partition(";")[0].strip()
        if not _COOKIE.fullmatch(cookie):
            raise RegistrarFailed(RegistrarFailure.MALFORMED)
        return cookie

    def content(self, response: ApiResponse) -> Any:
        """Raise RegistrarFailed unless the code in the body is one of success."""
        reply = read(_Reply, response.json())
        if reply.code not in _SUCCESS:
            raise self.failure(str(reply.code), text=" ".join(filter(None, (reply.msg, reply.reason))))
        return reply.content
