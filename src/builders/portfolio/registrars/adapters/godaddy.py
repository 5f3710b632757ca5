"""GoDaddy (https://developer.godaddy.com/doc): Domains API 1 and 2, Orders API 1. Money is in micro-units."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from http import HTTPStatus

from pydantic import Field, TypeAdapter

from builders.portfolio.registrars import adapter
from builders.portfolio.registrars.adapter import Adapter, Amount, Flag, Row, a_label, classify, convert, read_time
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
    HeldTransfer,
    Profile,
    Quota,
    TransferDirection,
    TransferState,
)

_PER_PAGE = 1000
_MICRO = Decimal("0.000001")
# Prefixes, the first one that fits: a status has a suffix for its reason. The list also has the names that the
# account lost: cancelled, auctioned after the expiry (EXPIRED_REASSIGNED), moved to another account or registrar
# (UPDATED_OWNERSHIP), taken away (CONFISCATED, DISABLED_SPECIAL), or never obtained (FAILED, REVERTED).
# Read at developer.godaddy.com/doc/endpoint/domains in November 2026.
_STATUSES = {
    "ACTIVE": HeldStatus.ACTIVE,
    "CANCELLED_REDEEMABLE": HeldStatus.REDEMPTION,  # it can still be restored
    **dict.fromkeys(("CANCELLED", "CONFISCATED", "DISABLED_SPECIAL", "EXPIRED_REASSIGNED"), HeldStatus.GONE),
    **dict.fromkeys(("FAILED", "PARKED_EXPIRED", "REVERTED", "TRANSFERRED_OUT"), HeldStatus.GONE),
    "UPDATED_OWNERSHIP": HeldStatus.GONE,
    "EXPIRED": HeldStatus.EXPIRED,
    "PENDING": HeldStatus.PENDING,
    "AWAITING": HeldStatus.PENDING,
    "HELD": HeldStatus.SUSPENDED,
    "SUSPENDED": HeldStatus.SUSPENDED,
}
_STATES = {
    **dict.fromkeys(("ACCEPTED", "AWAITING", "PENDING"), TransferState.PENDING),
    "SUCCESS": TransferState.COMPLETED,
    "FAILED": TransferState.FAILED,
    "CANCELLED": TransferState.CANCELLED,
}
_RESTRICTED = "GoDaddy's production API requires 10 or more domains or a Discount Domain Club plan."


class _Domain(Row):
    domain: str
    status: str | None = None
    created_at: str | None = None
    expires: str | None = None
    renew_auto: Flag = None
    locked: Flag = None
    privacy: Flag = None
    name_servers: tuple[str, ...] | None = None
    auth_code: str | None = Field(default=None, repr=False)


class _Action(Row):
    type: str
    status: str
    created_at: str | None = None
    completed_at: str | None = None


class _Summary(Row):
    order_id: str
    created_at: str
    currency: str = "USD"
    parent_order_id: str | None = None


class _Pagination(Row):
    total: int = 0


class _Purchases(Row):
    orders: tuple[_Summary, ...] = ()
    pagination: _Pagination = _Pagination()


class _Fees(Row):
    total: Amount = Decimal(0)


class _Pricing(Row):
    subtotal: Amount
    taxes: Amount = Decimal(0)
    fees: _Fees = _Fees()


class _Item(Row):
    label: str = ""
    domains: tuple[str, ...] = ()
    period: int | None = None
    period_unit: str = "MONTH"
    pricing: _Pricing


class _Purchase(_Summary):
    items: tuple[_Item, ...] = ()


class _Error(Row):
    code: str = ""
    retry_after_sec: float | None = None


_DOMAINS = TypeAdapter(tuple[_Domain, ...])
_DOMAIN = TypeAdapter(_Domain)
_ACTIONS = TypeAdapter(tuple[_Action, ...])
_ORDERS = TypeAdapter(_Purchases)
_ORDER = TypeAdapter(_Purchase)
_ERROR = TypeAdapter(_Error)


class GoDaddy(Adapter):
    """An account at GoDaddy."""

    profile = Profile(
        provider="godaddy",
        label="GoDaddy",
        base_urls={
            Environment.LIVE: "https://api.godaddy.com",
            Environment.SANDBOX: "https://api.ote-godaddy.com",
        },
        live_domains=("godaddy.com", "secureserver.net"),
        credential_fields=(
            CredentialField(name="api_key", label="API key"),
            CredentialField(name="api_secret", label="API secret"),
            CredentialField(name="shopper_id", label="Shopper ID", is_secret=False, is_required=False),
            CredentialField(name="customer_id", label="Customer ID", is_secret=False, is_required=False),
        ),
        capabilities=Capabilities(
            set_auto_renew=True,
            billing=True,
            auth_code=AuthCodeDelivery.RETURNED,
            transfer_status=True,
            sandbox=True,
        ),
        quota=Quota(requests=60, window_s=60),
        dashboard_url="https://dcc.godaddy.com/control/portfolio",
        list_end="no domain behind the last `marker` (developer.godaddy.com/doc/endpoint/domains, November 2026)",
    )

    def __init__(self, api: ApiClient, *, credentials: Mapping[str, str]) -> None:
        super().__init__(api, credentials=credentials)
        self._headers = {"Authorization": f"sso-key {credentials['api_key']}:{credentials['api_secret']}"}
        if shopper := credentials.get("shopper_id"):
            self._headers["X-Shopper-Id"] = shopper

    async def list_domains(self) -> AsyncIterator[Sequence[HeldDomain]]:
        """Yield pages after a marker, the last name of the page before; an empty page ends the list."""
        query: dict[str, str | int] = {"limit": _PER_PAGE, "includes": "nameServers"}
        while True:
            rows = await self._get("/v1/domains", _DOMAINS, query)
            rows = tuple(each for each in rows if each.domain != query.get("marker"))
            yield await convert(rows, _held)
            if not rows:
                return
            query["marker"] = rows[-1].domain

    async def get_domain(self, domain: str) -> HeldDomain:
        """Return one domain."""
        return _held(await self._get(f"/v1/domains/{domain}", _DOMAIN))

    async def list_charges(self, *, since: date, until: date) -> AsyncIterator[Sequence[BilledLine]]:
        """Yield the items of the orders of the period; the summary names no domain, so each order is read."""
        async for orders in adapter.bounded(self._list_orders(since, until)):
            for summary in orders:
                order = await self._get(f"/v1/orders/{summary.order_id}", _ORDER)
                lines = [line for line in _lines(order) if since <= line.charged_on <= until]
                if lines:
                    yield lines

    async def _list_orders(self, since: date, until: date) -> AsyncIterator[Sequence[_Summary]]:
        period, offset = {"periodStart": f"{since}T00:00:00Z", "periodEnd": f"{until + timedelta(1)}T00:00:00Z"}, 0
        while True:
            page = await self._get("/v1/orders", _ORDERS, {**period, "limit": 100, "offset": offset})
            yield page.orders
            offset += len(page.orders)
            if not page.orders or offset >= page.pagination.total:
                return

    async def get_auth_code(self, domain: str) -> AuthCode:
        """Return the authorization code."""
        found = await self._get(f"/v1/domains/{domain}", _DOMAIN)
        if found.auth_code is None:
            raise RegistrarFailed(RegistrarFailure.REFUSED, hint="Unlock the domain at GoDaddy and try again.")
        return AuthCode(delivery=AuthCodeDelivery.RETURNED, code=found.auth_code)

    async def find_transfer(self, domain: str) -> HeldTransfer | None:
        """Return the latest transfer of the domain, in either direction."""
        customer = self._credentials.get("customer_id")
        if not customer:
            raise RegistrarFailed(RegistrarFailure.UNSUPPORTED, hint="Add customer_id to the credentials.")
        try:
            actions = await self._get(f"/v2/customers/{customer}/domains/{domain}/actions", _ACTIONS)
        except RegistrarFailed as failed:
            if failed.kind is RegistrarFailure.NOT_FOUND:
                return None
            raise
        transfers = [each for each in actions if each.type.startswith("TRANSFER")]
        if not transfers:
            return None
        latest = max(transfers, key=lambda each: each.created_at or "")
        is_out = latest.type.startswith("TRANSFER_OUT")
        return HeldTransfer(
            direction=TransferDirection.OUT if is_out else TransferDirection.IN,
            state=_STATES.get(latest.status, TransferState.ACTION_REQUIRED),
            status_raw=f"{latest.type} {latest.status}",
            started_at=read_time(latest.created_at),
            completed_at=read_time(latest.completed_at),
        )

    async def set_auto_renew(self, domain: str, *, enabled: bool) -> None:
        """Switch automatic renewal on or off."""
        headers = {**self._headers, "Content-Type": "application/json"}
        body = b'{"renewAuto": true}' if enabled else b'{"renewAuto": false}'
        await self._api.send(
            "PATCH", f"/v1/domains/{domain}", into=_checked, headers=headers, body=body, reads=False
        )

    async def _get(self, path: str, form: TypeAdapter[T], query: Query | None = None) -> T:
        def into(response: ApiResponse) -> T:
            return read(form, _checked(response).json())

        return await self._api.get(path, into=into, query=query, headers=self._headers)


def _checked(response: ApiResponse) -> ApiResponse:
    """Raise RegistrarFailed for an error, which has a code and a status of its own."""
    if response.status < HTTPStatus.BAD_REQUEST:
        return response
    error = read(_ERROR, response.json())
    if response.status == HTTPStatus.FORBIDDEN and error.code == "ACCESS_DENIED":
        raise RegistrarFailed(RegistrarFailure.RESTRICTED, code=error.code, hint=_RESTRICTED)
    hint = "Check key and secret, and that they are for this environment (production or OTE)."
    return require_success(response, auth_hint=hint, code=error.code)


def _held(row: _Domain) -> HeldDomain:
    status = (row.status or "").upper()
    found = next((held for prefix, held in _STATUSES.items() if status.startswith(prefix)), HeldStatus.UNKNOWN)
    return HeldDomain(
        domain=a_label(row.domain),
        expires_at=read_time(row.expires),
        created_at=read_time(row.created_at),
        auto_renew=row.renew_auto,
        locked=row.locked,
        privacy=row.privacy,
        status=found,
        status_raw=row.status,
        nameservers=row.name_servers,
    )


def _lines(order: _Purchase) -> list[BilledLine]:
    """Return a line for each item; an order with a parent refunds it and has negative amounts."""
    charged_at = read_time(order.created_at)
    if charged_at is None:
        raise RegistrarFailed(RegistrarFailure.MALFORMED)
    lines: list[BilledLine] = []
    for number, item in enumerate(order.items, start=1):
        pricing = item.pricing
        total = (pricing.subtotal + pricing.taxes + pricing.fees.total) * _MICRO
        lines.append(
            BilledLine(
                order_id=order.order_id,
                line_id=str(number),
                charged_on=charged_at.date(),
                description=item.label,
                domains=item.domains,
                kind=ChargeKind.REFUND if total < 0 else classify(item.label),
                total=total,
                tax=pricing.taxes * _MICRO,
                fees=pricing.fees.total * _MICRO,
                currency=order.currency,
                years=_years(item),
                parent_order_id=order.parent_order_id,
            )
        )
    return lines


def _years(item: _Item) -> int | None:
    if item.period is None:
        return None
    return item.period if item.period_unit.upper().startswith("YEAR") else item.period // 12
