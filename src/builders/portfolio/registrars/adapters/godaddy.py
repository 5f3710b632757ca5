"""GoDaddy (https://developer.godaddy.com/doc): Domains API 1 and 2, Orders API 1. Money is in micro-units."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, ClassVar

from pydantic import RootModel

from builders.portfolio.registrars.adapter import Adapter, ListEnd, Page, Place, bounded, list_pages
from builders.portfolio.registrars.api_client import ApiClient
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.items import Items
from builders.portfolio.registrars.records import (
    BilledLine,
    CredentialField,
    HeldStatus,
    HeldTransfer,
    Profile,
    Quota,
)
from builders.portfolio.registrars.rows import Amount, DomainRow, Row, Time, TransferRow, classify, named
from builders.portfolio.registrars.sources import Topic, client, document

_MICRO = Decimal("0.000001")
# How statuses begin, which have a suffix for their reason. The list also has the names that the
# account lost: cancelled, auctioned after the expiry (EXPIRED_REASSIGNED), moved to another account or registrar
# (UPDATED_OWNERSHIP), taken away (CONFISCATED), or never obtained (FAILED, REVERTED).
_STATUSES = {
    "active": HeldStatus.ACTIVE,
    # It can still be restored, or is on the way there or back.
    **dict.fromkeys(("cancelled_redeemable", "held_expired_redemption"), HeldStatus.REDEMPTION),
    **dict.fromkeys(("pending_hold_redemption", "pending_lock_then_hold_redemption"), HeldStatus.REDEMPTION),
    **dict.fromkeys(("pending_redemption", "pending_restoration"), HeldStatus.REDEMPTION),
    **dict.fromkeys(("cancelled", "confiscated", "expired_reassigned", "failed"), HeldStatus.GONE),
    **dict.fromkeys(("reverted", "transferred_out", "updated_ownership"), HeldStatus.GONE),
    **dict.fromkeys(("expired", "parked_expired", "pending_expir"), HeldStatus.EXPIRED),
    "pending_transfer_out": HeldStatus.TRANSFERRING_OUT,
    **dict.fromkeys(("awaiting", "pending"), HeldStatus.PENDING),
    **dict.fromkeys(("disabled_special", "held", "suspended"), HeldStatus.SUSPENDED),
    **dict.fromkeys(("locked_abuse", "locked_copyright"), HeldStatus.SUSPENDED),
    **dict.fromkeys(("parked_and_held", "parked_verification"), HeldStatus.SUSPENDED),
}


class _Domain(DomainRow):
    model_config = named(
        expires_at="expires",
        created_at="createdAt",
        auto_renew="renewAuto",
        status_raw="status",
        nameservers="nameServers",
    )
    states: ClassVar = _STATUSES


class _Domains(RootModel[tuple[Any, ...]]):
    pass


class _Action(TransferRow):
    model_config = named(status_raw="status", is_out="type", started_at="createdAt", completed_at="completedAt")
    type: str

    def held(self) -> HeldTransfer:
        """Show the type beside the status."""
        return replace(super().held(), status_raw=f"{self.type} {self.status_raw}")


class _Actions(RootModel[tuple[_Action, ...]]):
    pass


class _Summary(Row):
    order_id: str
    created_at: Time
    currency: str = "USD"
    parent_order_id: str | None = None  # of a refund, whose amounts are negative


class _Pagination(Row):
    total: int = 0


class _Purchases(Row):
    orders: tuple[Any, ...] = ()
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


class GoDaddy(Adapter):
    """An account at GoDaddy."""

    profile = Profile(
        provider="godaddy",
        label="GoDaddy",
        url="https://api.godaddy.com",
        sandbox_url="https://api.ote-godaddy.com",
        live_domains=("godaddy.com", "secureserver.net"),
        credential_fields=(
            CredentialField(name="api_key", label="API key"),
            CredentialField(name="api_secret", label="API secret"),
            CredentialField(name="shopper_id", label="Shopper ID", is_secret=False, is_required=False),
            CredentialField(name="customer_id", label="Customer ID", is_secret=False, is_required=False),
            CredentialField(
                name="access_token",
                label="Personal access token",
                is_required=False,
                instead_of=("api_key", "api_secret"),
            ),
        ),
        quota=Quota(requests=60, window_s=60),
        dashboard_url="https://dcc.godaddy.com/control/portfolio",
        list_end="no domain behind the last `marker` (developer.godaddy.com/doc/endpoint/domains, November 2026)",
        place="developer.godaddy.com: a personal access token, or API keys, a production key",
        requires=(
            "a domain in the account, of some 10 or a Discount Domain Club plan; other accounts are `restricted`; "
            "`access_token` replaces key and secret, which GoDaddy is retiring. `shopper_id` is that of a "
            "reseller; transfers need `customer_id`"
        ),
        sources=(
            document(
                "https://github.com/godaddy/cli/blob/main/.agents/skills/gddy/reference/api.md",
                "2026-11-22",
                *(Topic.AUTHENTICATION, Topic.PAGES),
            ),
            document(
                "https://github.com/godaddy/cli/blob/main/.agents/skills/gddy/reference/errors-and-limits.md",
                "2026-11-22",
                *(Topic.ERRORS, Topic.LIMITS),
            ),
            document(
                "https://developer.godaddy.com/doc/endpoint/domains",
                "2026-11",
                *(Topic.STATES, Topic.AUTO_RENEW, Topic.LOCK, Topic.SWITCH, Topic.AUTH_CODES, Topic.TRANSFERS),
                Topic.SANDBOX,
            ),
            document("https://developer.godaddy.com/doc/endpoint/orders", "2026-11", Topic.BILLS),
            client("https://github.com/alyx/godaddy (list of statuses)", "2026-11-22", Topic.STATES),
        ),
        aliases=("godaddycom", "godaddyonlineservicescaymanislands", "wildwestdomains"),
    )
    ends = ListEnd.EMPTY
    failures: ClassVar = {
        "ACCESS_DENIED": RegistrarFailure.RESTRICTED,
        **dict.fromkeys(("NOT_FOUND", "UNKNOWN_DOMAIN"), RegistrarFailure.NOT_FOUND),
        "TOO_MANY_REQUESTS": RegistrarFailure.RATE_LIMITED,
        "UNABLE_TO_AUTHENTICATE": RegistrarFailure.AUTH_FAILED,
    }
    code_member = "code"
    auth_hint = "Check key and secret, or the token, and that they are for this environment (production or OTE)."
    hints: ClassVar = {
        RegistrarFailure.RESTRICTED: (
            "GoDaddy's production API requires a domain in the account; of some accounts it requires 10 or more "
            "domains or a Discount Domain Club plan."
        )
    }
    domain_row = _Domain
    domain_path = code_path = "/v1/domains/{domain}"

    def __init__(self, api: ApiClient, *, credentials: Mapping[str, str]) -> None:
        super().__init__(api, credentials=credentials)
        token = credentials.get("access_token")
        key = "Bearer {access_token}" if token else "sso-key {api_key}:{api_secret}"
        self._headers["Authorization"] = key.format_map(credentials)
        if shopper := credentials.get("shopper_id"):
            self._headers["X-Shopper-Id"] = shopper

    async def read_domains(self, place: Place) -> Page[Any]:
        """Return the names after a marker, the last one of the page before; an empty page ends the list."""
        marker = {} if place.cursor is None else {"marker": place.cursor}
        listed = await self.call(_Domains, "/v1/domains", limit=1000, includes="nameServers", **marker)
        names = [each.get("domain") if isinstance(each, dict) else None for each in listed.root]
        rows = [row for name, row in zip(names, listed.root, strict=True) if name is None or name != place.cursor]
        return Page(rows=rows, cursor=next((each for each in reversed(names) if isinstance(each, str)), None))

    async def list_charges(self, *, since: date, until: date) -> AsyncIterator[Sequence[BilledLine]]:
        """Yield the items of the orders of the period; the summary names no domain, so each order is read."""
        period = {"periodStart": f"{since}T00:00:00Z", "periodEnd": f"{until + timedelta(1)}T00:00:00Z"}

        items = Items(name="order_id")

        async def read_orders(place: Place) -> Page[Any]:
            page = await self.call(_Purchases, "/v1/orders", **period, limit=100, offset=place.start)
            end = place.start + len(page.orders)
            has_more = page.orders and end < page.pagination.total
            return Page(rows=page.orders, cursor=end if has_more else None)

        async for orders in bounded(list_pages(read_orders, items=items)):
            for summary in await items.rows(_Summary, orders):
                name = summary.order_id
                order = await items.ask(name, self.call(_Purchase, f"/v1/orders/{name}"))
                if order is not None and order.items and since <= order.created_at.date() <= until:
                    yield [_line(order, number, item) for number, item in enumerate(order.items, start=1)]

    async def list_transfers(self, domain: str) -> Sequence[TransferRow]:
        """Return the transfers of the domain, in either direction."""
        customer = self._credentials.get("customer_id")
        if not customer:
            raise RegistrarFailed(RegistrarFailure.UNSUPPORTED, hint="Add customer_id to the credentials.")
        found = await self.call(_Actions, f"/v2/customers/{customer}/domains/{domain}/actions")
        return [action for action in found.root if action.type.startswith("TRANSFER")]

    async def set_auto_renew(self, domain: str, *, enabled: bool) -> None:
        """Switch automatic renewal on or off."""
        path, body = f"/v1/domains/{domain}", {"renewAuto": enabled}
        await self.send("PATCH", path, into=self.content, json=body, reads=False)


def _line(order: _Purchase, number: int, item: _Item) -> BilledLine:
    pricing = item.pricing
    total = (pricing.subtotal + pricing.taxes + pricing.fees.total) * _MICRO
    is_yearly = item.period_unit.upper().startswith("YEAR")
    return BilledLine(
        order_id=order.order_id,
        line_id=str(number),
        charged_on=order.created_at.date(),
        description=item.label,
        domains=item.domains,
        kind=classify(item.label, total=total),
        total=total,
        tax=pricing.taxes * _MICRO,
        fees=pricing.fees.total * _MICRO,
        currency=order.currency,
        years=item.period if item.period is None or is_yearly else item.period // 12,
        parent_order_id=order.parent_order_id,
    )
