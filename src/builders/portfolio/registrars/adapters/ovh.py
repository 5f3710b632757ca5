"""OVHcloud (https://eu.api.ovh.com/console/): signed requests; one request per domain for its details."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from hashlib import sha1
from typing import Annotated, Any, ClassVar

from pydantic import AliasPath, BaseModel, BeforeValidator, Field, RootModel

from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.portfolio.registrars.adapter import Adapter, Headers
from builders.portfolio.registrars.api_client import read
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.items import Items
from builders.portfolio.registrars.records import (
    AuthCode,
    BilledLine,
    Capabilities,
    CredentialField,
    Environment,
    HeldStatus,
    Profile,
    Quota,
    RegistrarDomain,
)
from builders.portfolio.registrars.rows import (
    AmountOfFloat,
    BillTime,
    DomainRow,
    Flag,
    OptionalTime,
    Row,
    a_label,
    classify,
    known,
    named,
    time_by,
)
from builders.portfolio.registrars.sources import Topic, client, document

_PER_PAGE = 20  # names whose details are read before a page is given on
_EXPIRED = "460"  # "This service is expired": ResourceExpiredError of github.com/ovh/python-ovh
_MONTHS = 12  # of a price that is for a year
# By the name that OVHcloud's own clients give each of its three APIs, whose accounts are separate.
_ENDPOINTS = {
    "ovh-eu": "https://eu.api.ovh.com/1.0",
    "ovh-ca": "https://ca.api.ovh.com/1.0",
    "ovh-us": "https://api.us.ovhcloud.com/1.0",
}


# The states of a domain that say more than that of its service.
_STATES = {
    "deleted": HeldStatus.GONE,
    **dict.fromkeys(("dispute", "registry_suspended", "technical_suspended"), HeldStatus.SUSPENDED),
    "expired": HeldStatus.EXPIRED,
    **dict.fromkeys(("pending_create", "pending_incoming_transfer", "pending_installation"), HeldStatus.PENDING),
    "pending_delete": HeldStatus.PENDING_DELETE,
    "pending_outgoing_transfer": HeldStatus.TRANSFERRING_OUT,
    "restorable": HeldStatus.REDEMPTION,
}


class _Domain(DomainRow):
    model_config = named(
        expires_at="expiration",
        created_at="creation",
        auto_renew=AliasPath("renew", "automatic"),
        ends=AliasPath("renew", "deleteAtExpiration"),
        locked="transferLockStatus",
        status_raw="status",
        on_hold="suspensionState",
    )
    ends: Flag = None
    on_hold: Annotated[bool | None, BeforeValidator(lambda word: word == "suspended")] = None
    state: str | None = None  # of the domain; `status` is that of the service

    def held(self) -> RegistrarDomain:
        """Read the state of the domain; one that is deleted at its expiry is not renewed."""
        held, status = super().held(), _STATES.get(self.state or "")
        held = held if status is None else replace(held, status=status, status_raw=self.state)
        return replace(held, auto_renew=False) if self.ends else held


class _Price(Row):
    value: AmountOfFloat
    currency_code: str


class _Pricing(Row):
    interval: int
    price: _Price


class _Service(BaseModel):
    pricing: _Pricing = Field(validation_alias=AliasPath("billing", "pricing"))


class _Bill(Row):
    bill_id: str
    # As the bill shows it, in OVHcloud's time zone; the day of a time in UTC may be another one.
    day: Annotated[BillTime, time_by(lambda text: datetime.fromisoformat(text).replace(tzinfo=None))] = Field(
        alias="date"
    )


class _Line(Row):
    domain: str = ""
    description: str = ""
    period_start: OptionalTime = None
    period_end: OptionalTime = None
    total_price: _Price


class _Object(RootModel[dict[str, Any]]):
    pass


class _Names(RootModel[tuple[str | int | float | bool | None, ...]]):
    pass


class _Text(RootModel[str]):
    pass


class Ovh(Adapter):
    """A customer of OVHcloud."""

    profile = Profile(
        provider="ovh",
        label="OVHcloud",
        url=_ENDPOINTS["ovh-eu"],
        live_domains=("ovh.com", "ovhcloud.com", "kimsufi.com", "soyoustart.com"),
        credential_fields=(
            CredentialField(name="application_key", label="Application key", is_secret=False),
            CredentialField(name="application_secret", label="Application secret"),
            CredentialField(name="consumer_key", label="Consumer key"),
            CredentialField(name="endpoint", label="ovh-eu, ovh-ca or ovh-us", is_secret=False, is_required=False),
        ),
        quota=Quota(requests=60, window_s=60),
        dashboard_url="https://www.ovh.com/manager/#/web/domain",
        list_end=(
            "each name of `/domain` was read: it lists all names, without pages "
            "(eu.api.ovh.com/console, November 2026)"
        ),
        place="eu.api.ovh.com/createToken",
        requires=(
            "rights: GET on `/domain`, `/domain/*`, `/services/*`, `/me/bill`, `/me/bill/*`, and PUT on "
            "`/domain/*/serviceInfos`; `endpoint` is `ovh-eu`, `ovh-ca` or `ovh-us`, and `ovh-eu` without one"
        ),
        capabilities=Capabilities(prices=True),
        sources=(
            document("https://github.com/ovh/python-ovh (README)", "2026-11-22", Topic.AUTHENTICATION),
            document("https://github.com/ovh/python-ovh (its exceptions)", "2026-11-25", Topic.ERRORS),
            document("https://github.com/ovh/manager (states of domains)", "2026-11-25", Topic.STATES),
            document(
                "https://eu.api.ovh.com/1.0/domain.json",
                "2026-11-22",
                *(Topic.PAGES, Topic.STATES, Topic.AUTO_RENEW, Topic.LOCK, Topic.SWITCH, Topic.AUTH_CODES),
            ),
            document("https://eu.api.ovh.com/1.0/services.json", "2026-11-22", Topic.PRICES),
            client("https://github.com/ovh/php-ovh/issues/52", "2026-11", Topic.AUTO_RENEW),
            client("https://github.com/ovh/python-ovh/issues/61", "2026-11-22", Topic.SWITCH),
        ),
        aliases=("ovhcloud", "ovhcom"),
    )
    failures: ClassVar = {  # errorCode of a 403: the client of github.com/ovh/python-ovh
        **dict.fromkeys(("INVALID_CREDENTIAL", "INVALID_KEY"), RegistrarFailure.AUTH_FAILED),
        **dict.fromkeys(("NOT_CREDENTIAL", "NOT_GRANTED_CALL"), RegistrarFailure.AUTH_FAILED),
        "QUERY_TIME_OUT": RegistrarFailure.UNAVAILABLE,
    }
    code_member = "errorCode"
    auth_hint = (
        "Check the three keys, that the consumer key is validated, its access to /domain, /services and /me/bill, "
        "and that `endpoint` is ovh-eu, ovh-ca or ovh-us, as the account."
    )

    @classmethod
    def base_url_of(cls, environment: Environment, *, credentials: Mapping[str, str]) -> str:
        """Return the API of the account: that of Europe unless `endpoint` names another."""
        del environment
        url = _ENDPOINTS.get(credentials.get("endpoint", "ovh-eu").strip().lower())
        if url is None:
            raise RegistrarFailed(RegistrarFailure.AUTH_FAILED, hint=cls.auth_hint)
        return url

    async def verify(self) -> None:
        """Read the names alone."""
        await self.call(_Names, "/domain")

    async def list_domains(self) -> AsyncIterator[Sequence[RegistrarDomain]]:
        """Yield the domains, each with three requests for its details and its price."""
        names, items = [a_label(str(name)) for name in (await self.call(_Names, "/domain")).root], Items()
        for start in range(0, len(names), _PER_PAGE):
            found = [await items.ask(each, self.get_domain(each)) for each in names[start : start + _PER_PAGE]]
            yield [each for each in found if each is not None]
        items.close()

    async def set_auto_renew(self, domain: str, *, enabled: bool) -> None:
        """Switch automatic renewal on or off, and keep the other settings; one that is renewed is not deleted."""
        path = f"/domain/{domain}/serviceInfos"
        renew = (await self.call(_Object, path)).root.get("renew") or {"forced": False}
        ends = {"deleteAtExpiration": renew.get("deleteAtExpiration", False) and not enabled}
        body = {"renew": {**renew, "automatic": enabled, **ends}}
        await self.send("PUT", path, into=self.content, json=body, reads=False)

    async def get_domain(self, domain: str) -> RegistrarDomain:
        """Return one domain."""
        service = await self._find(f"/domain/{domain}/serviceInfos")
        details = await self._find(f"/domain/{domain}")
        held = read(_Domain, {**(details or {}), **(service or {}), "domain": domain}).held()
        if service is None or details is None:
            held = replace(held, status=HeldStatus.EXPIRED, status_raw=held.status_raw or "expired")
        return replace(held, renewal_price=await self._find_price((service or {}).get("serviceId")))

    async def _find(self, path: str) -> Mapping[str, Any] | None:
        """Return an object of a service; None for a service that is expired."""
        try:
            return (await self.call(_Object, path)).root
        except RegistrarFailed as failed:
            if failed.code == _EXPIRED:
                return None
            raise

    async def _find_price(self, service_id: object) -> Money | None:
        """Return the price of a year of the service; None when OVHcloud does not give it."""
        try:
            found = (await self.call(_Service, f"/services/{service_id}")).pricing if service_id else None
        except RegistrarFailed:
            return None
        if found is None or found.interval != _MONTHS:
            return None
        return Money(found.price.value, found.price.currency_code).quantized()

    async def list_charges(self, *, since: date, until: date) -> AsyncIterator[Sequence[BilledLine]]:
        """Yield the lines of each bill of the period; prices are without tax."""
        query = {"date.from": since.isoformat(), "date.to": until.isoformat()}
        items = Items()
        for number in (await self.call(_Names, "/me/bill", **query)).root:
            lines = await items.ask(str(number), self._read_lines(f"/me/bill/{number}"))
            if lines and since <= lines[0].charged_on <= until:
                yield lines
        items.close()

    async def _read_lines(self, path: str) -> Sequence[BilledLine]:
        bill = await self.call(_Bill, path)
        line_ids = (await self.call(_Names, f"{path}/details")).root
        return [_line(bill, str(each), await self.call(_Line, f"{path}/details/{each}")) for each in line_ids]

    async def get_auth_code(self, domain: str) -> AuthCode:
        """Return the authorization code."""
        return AuthCode(code=(await self.call(_Text, f"/domain/{domain}/authInfo")).root)

    def sign(self, method: str, target: str, *, headers: Headers, body: bytes | None) -> Headers:
        """Sign the request by the secrets and the time."""
        keys, now = self._credentials, str(int(clock.now().timestamp()))
        secrets = f"{keys['application_secret']}+{keys['consumer_key']}"
        text = f"{secrets}+{method}+{self._api.base_url}{target}+{(body or b'').decode()}+{now}"
        # The scheme prescribes SHA-1, and not as a MAC.
        signature = sha1(text.encode(), usedforsecurity=False).hexdigest()
        return {
            **headers,
            "X-Ovh-Application": keys["application_key"],
            "X-Ovh-Consumer": keys["consumer_key"],
            "X-Ovh-Timestamp": now,
            "X-Ovh-Signature": f"$1${signature}",
        }


def _line(bill: _Bill, line_id: str, row: _Line) -> BilledLine:
    total, start, end = row.total_price.value, known(row.period_start), known(row.period_end)
    years = round((end - start).days / 365.25) if start and end else None
    return BilledLine(
        order_id=bill.bill_id,
        line_id=line_id,
        charged_on=bill.day.date(),
        description=row.description,
        domains=(row.domain,) if "." in row.domain else (),
        kind=classify(row.description, total=total),
        total=total,
        currency=row.total_price.currency_code,
        years=years or None,
    )
