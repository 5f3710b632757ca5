"""OVHcloud (https://eu.api.ovh.com/console/): signed requests; one request per domain for its details."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import date, datetime
from hashlib import sha1
from typing import Annotated
from urllib.parse import urlencode

from pydantic import BeforeValidator, TypeAdapter

from builders.kit.values import clock
from builders.portfolio.registrars.adapter import Adapter, Amount, Row, Rows, a_label, classify, read_time
from builders.portfolio.registrars.api_client import ApiClient, ApiResponse, Query, T, read, require_success
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import (
    AuthCode,
    AuthCodeDelivery,
    BilledLine,
    Capabilities,
    ChargeKind,
    CredentialField,
    Environment,
    HeldDomain,
    HeldStatus,
    Profile,
    Quota,
)

_HINT = "Check the three keys, that the consumer key is validated, and its access to /domain and /me/bill."
_PER_PAGE = 20  # names whose details are read before a page is given on
_STATUSES = {"ok": HeldStatus.ACTIVE, "expired": HeldStatus.EXPIRED, "unPaid": HeldStatus.EXPIRED}
_LOCKS = {"locked": True, "locking": True, "unlocked": False, "unlocking": False}
_Exact = Annotated[Amount, BeforeValidator(str)]  # prices are floats


class _Renew(Row):
    automatic: bool | None = None
    delete_at_expiration: bool = False


class _Service(Row):
    creation: str | None = None
    expiration: str | None = None
    status: str | None = None
    renew: _Renew | None = None


class _Domain(Row):
    transfer_lock_status: str | None = None


class _Price(Row):
    value: _Exact
    currency_code: str


class _Bill(Row):
    bill_id: str
    date: str


class _Line(Row):
    domain: str = ""
    description: str = ""
    period_start: str | None = None
    period_end: str | None = None
    total_price: _Price


_NAMES = TypeAdapter(Rows[str])
_SERVICE = TypeAdapter(_Service)
_DOMAIN = TypeAdapter(_Domain)
_BILL = TypeAdapter(_Bill)
_LINE = TypeAdapter(_Line)
_TEXT = TypeAdapter(str)


class Ovh(Adapter):
    """A customer of OVHcloud."""

    profile = Profile(
        provider="ovh",
        label="OVHcloud",
        base_urls={Environment.LIVE: "https://eu.api.ovh.com/1.0"},
        live_domains=("ovh.com", "ovhcloud.com", "kimsufi.com", "soyoustart.com"),
        credential_fields=(
            CredentialField(name="application_key", label="Application key", is_secret=False),
            CredentialField(name="application_secret", label="Application secret"),
            CredentialField(name="consumer_key", label="Consumer key"),
        ),
        capabilities=Capabilities(billing=True, auth_code=AuthCodeDelivery.RETURNED),
        quota=Quota(requests=60, window_s=60),
        dashboard_url="https://www.ovh.com/manager/#/web/domain",
        list_end=(
            "each name of `/domain` was read: it lists all names, without pages "
            "(eu.api.ovh.com/console, November 2026)"
        ),
        is_verified=False,
    )

    def __init__(self, api: ApiClient, *, credentials: Mapping[str, str]) -> None:
        super().__init__(api, credentials=credentials)
        self._secret = f"{credentials['application_secret']}+{credentials['consumer_key']}"

    async def verify(self) -> None:
        """Read the names alone."""
        await self._get("/domain", _NAMES)

    async def list_domains(self) -> AsyncIterator[Sequence[HeldDomain]]:
        """Yield the domains, each with two requests for its details."""
        names = await self._get("/domain", _NAMES)
        for start in range(0, len(names), _PER_PAGE):
            yield [await self.get_domain(a_label(name)) for name in names[start : start + _PER_PAGE]]

    async def get_domain(self, domain: str) -> HeldDomain:
        """Return one domain."""
        service = await self._get(f"/domain/{domain}/serviceInfos", _SERVICE)
        details = await self._get(f"/domain/{domain}", _DOMAIN)
        renew = service.renew
        return HeldDomain(
            domain=domain,
            expires_at=read_time(service.expiration),
            created_at=read_time(service.creation),
            auto_renew=None if renew is None or renew.automatic is None else renew.automatic,
            locked=_LOCKS.get(details.transfer_lock_status or ""),
            status=_STATUSES.get(service.status or "", HeldStatus.UNKNOWN),
            status_raw=service.status,
        )

    async def list_charges(self, *, since: date, until: date) -> AsyncIterator[Sequence[BilledLine]]:
        """Yield the lines of each bill of the period; prices are without tax."""
        query = {"date.from": since.isoformat(), "date.to": until.isoformat()}
        for number in await self._get("/me/bill", _NAMES, query):
            bill = await self._get(f"/me/bill/{number}", _BILL)
            details = await self._get(f"/me/bill/{number}/details", _NAMES)
            lines = [
                _line(bill, line_id, await self._get(f"/me/bill/{number}/details/{line_id}", _LINE))
                for line_id in details
            ]
            lines = [line for line in lines if since <= line.charged_on <= until]
            if lines:
                yield lines

    async def get_auth_code(self, domain: str) -> AuthCode:
        """Return the authorization code."""
        code = await self._get(f"/domain/{domain}/authInfo", _TEXT)
        return AuthCode(delivery=AuthCodeDelivery.RETURNED, code=code)

    async def _get(self, path: str, form: TypeAdapter[T], query: Query | None = None) -> T:
        def into(response: ApiResponse) -> T:
            return read(form, require_success(response, auth_hint=_HINT).json())

        written = f"{path}?{urlencode(query)}" if query else path
        return await self._api.get(written, into=into, headers=self._sign("GET", written))

    def _sign(self, method: str, path: str) -> dict[str, str]:
        now = str(int(clock.now().timestamp()))
        text = f"{self._secret}+{method}+{self._api.base_url}{path}++{now}"
        # The scheme prescribes SHA-1, and not as a MAC.
        signature = sha1(text.encode(), usedforsecurity=False).hexdigest()
        return {
            "X-Ovh-Application": self._credentials["application_key"],
            "X-Ovh-Consumer": self._credentials["consumer_key"],
            "X-Ovh-Timestamp": now,
            "X-Ovh-Signature": f"$1${signature}",
        }


def _line(bill: _Bill, line_id: str, row: _Line) -> BilledLine:
    try:
        billed_on = datetime.fromisoformat(bill.date).date()  # as the bill shows it, in OVHcloud's time zone
    except ValueError:
        raise RegistrarFailed(RegistrarFailure.MALFORMED) from None
    total = row.total_price.value
    start, end = read_time(row.period_start), read_time(row.period_end)
    years = round((end - start).days / 365.25) if start and end else None
    return BilledLine(
        order_id=bill.bill_id,
        line_id=line_id,
        charged_on=billed_on,
        description=row.description,
        domains=(row.domain,) if "." in row.domain else (),
        kind=ChargeKind.REFUND if total < 0 else classify(row.description),
        total=total,
        currency=row.total_price.currency_code,
        years=years or None,
    )
