"""Name.com (https://docs.name.com/, Core API 1)."""

from base64 import b64encode
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.portfolio.registrars.adapter import Adapter, ListEnd, Page, Place, bounded, list_pages
from builders.portfolio.registrars.api_client import ApiClient
from builders.portfolio.registrars.items import Items
from builders.portfolio.registrars.records import (
    BilledLine,
    Capabilities,
    ChargeKind,
    CredentialField,
    HeldTransfer,
    Profile,
    Quota,
    RegistrarDomain,
    TransferState,
)
from builders.portfolio.registrars.rows import (
    Amount,
    DomainRow,
    Flag,
    OptionalTime,
    Row,
    Rows,
    Time,
    TransferRow,
    classify,
    named,
)
from builders.portfolio.registrars.sources import Topic, document

_PER_PAGE = 1000


class _Domain(DomainRow):
    model_config = named(
        domain="domainName",
        expires_at="expireDate",
        created_at="createDate",
        auto_renew="autorenewEnabled",
        privacy="privacyEnabled",
        renewal_price="renewalPrice",
        locked_until="transferLockExpiresAt",
        epp="locks",
    )
    auto_renew: Flag = False  # a false flag is omitted
    privacy: Flag = False
    renewal_price: Amount | None = None  # USD
    locked_until: OptionalTime = None  # by ICANN's policy

    def held(self) -> RegistrarDomain:
        """Add the price, and read the locks of the registrar, of the registry and of the policy."""
        price = None if self.renewal_price is None else Money(self.renewal_price, "USD").quantized()
        is_policy = self.locked_until is not None and self.locked_until > clock.now()
        held = super().held()
        return replace(held, renewal_price=price, locked=bool(held.locked) or is_policy)


class _Transfer(TransferRow):
    model_config = named(status_raw="status")

    def held(self) -> HeldTransfer:
        """Read a rejected transfer as open: Name.com can send it again until it is cancelled."""
        held = super().held()
        return replace(held, state=TransferState.ACTION_REQUIRED) if held.status_raw == "rejected" else held


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
    create_date: Time
    status: str = "success"
    currency: str = "USD"
    order_items: Rows[_Item] = ()


class _Domains(Row):
    domains: tuple[Any, ...]
    next_page: int | None = None
    total_count: int | None = None


class _Orders(Row):
    orders: tuple[Any, ...] = ()
    next_page: int | None = None


class NameCom(Adapter):
    """An account at Name.com."""

    profile = Profile(
        provider="namecom",
        label="Name.com",
        url="https://api.name.com",
        sandbox_url="https://api.dev.name.com",
        live_domains=("name.com",),
        credential_fields=(
            CredentialField(name="username", label="Username", is_secret=False),
            CredentialField(name="api_token", label="API token"),
        ),
        quota=Quota(requests=3000, window_s=3600),
        dashboard_url="https://www.name.com/account/domain",
        list_end=(
            "a page without `nextPage`, and as many rows as `totalCount` of each page "
            "(docs.name.com/docs/api-reference/domains/list-domains, November 2026)"
        ),
        place="name.com, Account, API tokens",
        requires="two-step verification must allow API access; a token can be bound to addresses",
        capabilities=Capabilities(prices=True),
        sources=(
            document(
                "https://docs.name.com/docs/api-reference/domains/list-domains",
                "2026-11-22",
                *(Topic.AUTHENTICATION, Topic.PAGES, Topic.STATES, Topic.AUTO_RENEW, Topic.LOCK, Topic.PRICES),
                *(Topic.ERRORS, Topic.LIMITS, Topic.SANDBOX),
            ),
            document(
                "https://github.com/namedotcom/namecom-mcp/blob/main/assets/namecom.api.yaml",
                "2026-11",
                *(Topic.SWITCH, Topic.BILLS, Topic.AUTH_CODES, Topic.TRANSFERS),
            ),
        ),
    )
    ends = ListEnd.CURSOR
    domain_row = _Domain
    domain_path = "/core/v1/domains/{domain}"
    code_path = "/core/v1/domains/{domain}:getAuthCode"
    transfer_row = _Transfer
    transfer_path = "/core/v1/transfers/{domain}"
    auth_hint = "Check the username and the token, and that the account allows this service's address."

    def __init__(self, api: ApiClient, *, credentials: Mapping[str, str]) -> None:
        super().__init__(api, credentials=credentials)
        pair = f"{credentials['username']}:{credentials['api_token']}"
        self._headers = {"Authorization": f"Basic {b64encode(pair.encode()).decode()}"}

    async def read_domains(self, place: Place) -> Page[Any]:
        """Return a page of at most 1,000 domains; the last one names no next page."""
        query = {"perPage": _PER_PAGE, "page": place.cursor or 1, "includeRenewalPrice": "true"}
        page = await self.call(_Domains, "/core/v1/domains", **query)
        return Page(
            rows=page.domains, cursor=page.next_page, total=page.total_count, is_cut=page.total_count is None
        )

    async def set_auto_renew(self, domain: str, *, enabled: bool) -> None:
        """Switch automatic renewal on or off."""
        path, body = self.path("/core/v1/domains/{domain}", domain), {"autorenewEnabled": enabled}
        await self.send("PATCH", path, into=self.content, json=body, reads=False)

    async def list_charges(self, *, since: date, until: date) -> AsyncIterator[Sequence[BilledLine]]:
        """Yield the items of the successful orders of the period; a refunded item is a second line."""
        items = Items(name="id")
        async for orders in bounded(list_pages(self._read_orders, items=items)):
            charged = [order for order in await items.rows(_Purchase, orders) if order.status == "success"]
            within = [order for order in charged if since <= order.create_date.date() <= until]
            if lines := [line for order in within for line in _lines(order)]:
                yield lines

    async def _read_orders(self, place: Place) -> Page[Any]:
        page = await self.call(_Orders, "/core/v1/orders", perPage=_PER_PAGE, page=place.cursor or 1)
        return Page(rows=page.orders, cursor=page.next_page)


def _lines(order: _Purchase) -> Iterator[BilledLine]:
    """Yield a line for each item that was charged, and a negative one for each that was refunded."""
    for item in order.order_items:
        if item.status == "failed":
            continue
        is_usd = order.currency == "USD" or item.price_non_usd is None
        price = item.price if is_usd or item.price_non_usd is None else item.price_non_usd
        line = BilledLine(
            order_id=str(order.id),
            line_id=str(item.id),
            charged_on=order.create_date.date(),
            description=f"{item.name} - {item.type}" if item.name else item.type,
            domains=(item.name,) if item.name else (),
            kind=classify(item.type),
            total=price + item.tax_amount,
            tax=item.tax_amount,
            currency="USD" if is_usd else order.currency,
            years=item.duration if item.interval == "year" else None,
        )
        yield line
        if item.status == "refunded":
            yield replace(
                line,
                line_id=f"{line.line_id}-refund",
                kind=ChargeKind.REFUND,
                total=-line.total,
                tax=-line.tax,
                parent_order_id=line.order_id,
            )
