"""Name.com (https://docs.name.com/, Core API 1)."""

from base64 import b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import TypeVar

from pydantic import Field, TypeAdapter

from builders.kit.values.money import Money
from builders.portfolio.registrars.adapter import (
    Adapter,
    Amount,
    Flag,
    Row,
    Rows,
    Total,
    a_label,
    bounded,
    convert,
    read_time,
)
from builders.portfolio.registrars.api_client import ApiClient, T, read, require_success
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
    HeldTransfer,
    Profile,
    Quota,
    TransferDirection,
    TransferState,
)

_HINT = "Check the username and the token, and that the account allows this service's address."
_PER_PAGE = 1000
_KINDS = {
    "registration": ChargeKind.REGISTRATION,
    "renewal": ChargeKind.RENEWAL,
    "transfer": ChargeKind.TRANSFER,
    "whois_privacy": ChargeKind.PRIVACY,
}
_STATES = {
    **dict.fromkeys(("canceled", "canceled_pending_refund"), TransferState.CANCELLED),
    "completed": TransferState.COMPLETED,
    **dict.fromkeys(("failed", "rejected"), TransferState.FAILED),
    **dict.fromkeys(
        ("pending", "pending_insert", "pending_transfer", "submitting_transfer"), TransferState.PENDING
    ),
}


class _Domain(Row):
    domain_name: str
    create_date: str | None = None
    expire_date: str | None = None
    autorenew_enabled: Flag = False  # a false flag is omitted
    locked: Flag = False
    privacy_enabled: Flag = False
    nameservers: tuple[str, ...] | None = None
    renewal_price: Amount | None = None  # USD


class _Item(Row):
    id: int
    status: str = "success"
    name: str | None = None  # None: it is not for one domain
    type: str = ""
    price: Amount
    price_non_usd: Amount | None = None
    tax_amount: Amount = Decimal(0)
    duration: int | None = None
    interval: str | None = None


class _Purchase(Row):
    id: int
    create_date: str
    status: str = "success"
    currency: str = "USD"
    order_items: Rows[_Item] = ()


class _Page(Row):
    next_page: int | None = None
    total_count: int | None = None


class _Domains(_Page):
    domains: Rows[_Domain]


class _Orders(_Page):
    orders: Rows[_Purchase] = ()


class _Transfer(Row):
    domain_name: str
    status: str


class _Code(Row):
    auth_code: str = Field(repr=False)


_DOMAINS = TypeAdapter(_Domains)
_ORDERS = TypeAdapter(_Orders)
_DOMAIN = TypeAdapter(_Domain)
_P = TypeVar("_P", bound=_Page)
_TRANSFER = TypeAdapter(_Transfer)
_CODE = TypeAdapter(_Code)


class NameCom(Adapter):
    """An account at Name.com."""

    profile = Profile(
        provider="namecom",
        label="Name.com",
        base_urls={Environment.LIVE: "https://api.name.com", Environment.SANDBOX: "https://api.dev.name.com"},
        live_domains=("name.com",),
        credential_fields=(
            CredentialField(name="username", label="Username", is_secret=False),
            CredentialField(name="api_token", label="API token"),
        ),
        capabilities=Capabilities(
            billing=True, auth_code=AuthCodeDelivery.RETURNED, transfer_status=True, sandbox=True
        ),
        quota=Quota(requests=3000, window_s=3600),
        dashboard_url="https://www.name.com/account/domain",
        list_end=(
            "a page without `nextPage`, and as many rows as `totalCount` of each page "
            "(docs.name.com/docs/api-reference/domains/list-domains, November 2026)"
        ),
    )

    def __init__(self, api: ApiClient, *, credentials: Mapping[str, str]) -> None:
        super().__init__(api, credentials=credentials)
        pair = f"{credentials['username']}:{credentials['api_token']}"
        self._headers = {"Authorization": f"Basic {b64encode(pair.encode()).decode()}"}

    async def list_domains(self) -> AsyncIterator[Sequence[HeldDomain]]:
        """Yield pages of at most 1,000 domains; the last one names no next page."""
        total = Total()
        async for page in self._pages("/core/v1/domains", _DOMAINS):
            total.add(len(page.domains), page.total_count)
            yield await convert(page.domains, _held)
        total.require()

    async def get_domain(self, domain: str) -> HeldDomain:
        """Return one domain."""
        return _held(await self._get(f"/core/v1/domains/{domain}", _DOMAIN))

    async def list_charges(self, *, since: date, until: date) -> AsyncIterator[Sequence[BilledLine]]:
        """Yield the items of the successful orders of the period; a refunded item is a second line."""
        async for orders in bounded(self._list_orders()):
            lines = [line for order in orders if order.status == "success" for line in _lines(order)]
            lines = [line for line in lines if since <= line.charged_on <= until]
            if lines or not orders:
                yield lines

    async def _list_orders(self) -> AsyncIterator[Sequence[_Purchase]]:
        async for page in self._pages("/core/v1/orders", _ORDERS):
            yield page.orders

    async def get_auth_code(self, domain: str) -> AuthCode:
        """Return the authorization code."""
        found = await self._get(f"/core/v1/domains/{domain}:getAuthCode", _CODE)
        return AuthCode(delivery=AuthCodeDelivery.RETURNED, code=found.auth_code)

    async def find_transfer(self, domain: str) -> HeldTransfer | None:
        """Return the incoming transfer of the domain."""
        try:
            found = await self._get(f"/core/v1/transfers/{domain}", _TRANSFER)
        except RegistrarFailed as failed:
            if failed.kind is RegistrarFailure.NOT_FOUND:
                return None
            raise
        state = _STATES.get(found.status, TransferState.ACTION_REQUIRED)
        return HeldTransfer(direction=TransferDirection.IN, state=state, status_raw=found.status)

    async def _pages(self, path: str, form: TypeAdapter[_P]) -> AsyncIterator[_P]:
        page: int | None = 1
        while page is not None:
            found = await self._get(f"{path}?perPage={_PER_PAGE}&page={page}", form)
            yield found
            page = found.next_page

    async def _get(self, path: str, form: TypeAdapter[T]) -> T:
        return await self._api.get(
            path,
            into=lambda response: read(form, require_success(response, auth_hint=_HINT).json()),
            headers=self._headers,
        )


def _held(row: _Domain) -> HeldDomain:
    return HeldDomain(
        domain=a_label(row.domain_name),
        expires_at=read_time(row.expire_date),
        created_at=read_time(row.create_date),
        auto_renew=row.autorenew_enabled,
        locked=row.locked,
        privacy=row.privacy_enabled,
        nameservers=row.nameservers,
        renewal_price=None if row.renewal_price is None else Money(row.renewal_price, "USD").quantized(),
    )


def _lines(order: _Purchase) -> list[BilledLine]:
    """Return a line for each item that was charged, and a negative one for each that was refunded."""
    lines: list[BilledLine] = []
    charged_on = read_time(order.create_date)
    if charged_on is None:
        raise RegistrarFailed(RegistrarFailure.MALFORMED)
    for item in order.order_items:
        if item.status == "failed":
            continue
        is_usd = order.currency == "USD" or item.price_non_usd is None
        price = item.price if is_usd or item.price_non_usd is None else item.price_non_usd
        line = BilledLine(
            order_id=str(order.id),
            line_id=str(item.id),
            charged_on=charged_on.date(),
            description=f"{item.name} - {item.type}" if item.name else item.type,
            domains=(item.name,) if item.name else (),
            kind=_KINDS.get(item.type, ChargeKind.OTHER),
            total=price + item.tax_amount,
            tax=item.tax_amount,
            currency="USD" if is_usd else order.currency,
            years=item.duration if item.interval == "year" else None,
        )
        lines.append(line)
        if item.status == "refunded":
            lines.append(_refund(line))
    return lines


def _refund(line: BilledLine) -> BilledLine:
    return replace(
        line,
        line_id=f"{line.line_id}-refund",
        kind=ChargeKind.REFUND,
        total=-line.total,
        tax=-line.tax,
        parent_order_id=line.order_id,
    )
