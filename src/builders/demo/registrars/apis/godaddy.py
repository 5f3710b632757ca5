"""A fake of GoDaddy's Domains and Orders APIs, after the specifications in github.com/godaddy/cli."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, ClassVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from builders.demo.registrars.fake import (
    WAIT_S,
    FakeDomain,
    FakeLine,
    FakePurchase,
    FakeRegistrar,
    Fault,
    Given,
    Handler,
    Missing,
)

_STATUSES = {"active": "ACTIVE", "expired": "EXPIRED", "redemption": "CANCELLED_REDEEMABLE"} | {
    "suspended": "HELD_REGISTRAR_ADD"
}
_STATES = {"pending": "PENDING", "completed": "SUCCESS", "cancelled": "CANCELLED", "failed": "FAILED"}
_LABELS = {
    "registration": ".EXAMPLE Domain Registration",
    "renewal": ".EXAMPLE Domain Name Renewal",
    "transfer": ".EXAMPLE Domain Name Transfer",
    "redemption": "Redemption Fee",
    "privacy": "Full Domain Privacy",
    "other": "Deluxe Hosting",
}
_TOO_MANY = (429, "TOO_MANY_REQUESTS", "Too many requests received within interval")


class FakeGoDaddy(FakeRegistrar):
    """GoDaddy: sso-key or a token, pages after a marker, money in micro-units, a refund as an order with a parent.

    The list also has the names that the account lost. 429 has RateLimit-Reset and not Retry-After.
    """

    credentials: ClassVar = {"api_key": "gd-demo", "api_secret": "gd-demo-secret", "customer_id": "c-1"}
    access_token = "gd-demo-token"  # noqa: S105 - of a fake
    page_size = most_asked = 1000
    wait_header = "RateLimit-Reset"
    missing = (404, "NOT_FOUND", "The domain is not found")
    failures: ClassVar = {
        Fault.BAD_KEY: (401, "UNABLE_TO_AUTHENTICATE", "Unauthorized : Could not authenticate API key/secret"),
        Fault.RESTRICTED: (403, "ACCESS_DENIED", "Authenticated user is not allowed access"),
        Fault.RATE_LIMITED: _TOO_MANY,
        Fault.RATE_LIMITED_SILENTLY: (429, "TOO_MANY_REQUESTS", "Too many requests"),
        Fault.REFUSED: (422, "INVALID_VALUE", "The limit is not valid"),
    }

    def routes(self) -> Mapping[str, Handler]:
        """Return the operations of the API."""
        return {
            "GET /v1/domains": self._list_domains,
            "GET /v1/domains/{domain}": self._get_domain,
            "PATCH /v1/domains/{domain}": self._change_domain,
            "GET /v1/orders": self._list_orders,
            "GET /v1/orders/{order_id}": self._get_order,
            f"GET /v2/customers/{self.credentials['customer_id']}/domains/{{domain}}/actions": self._list_actions,
        }

    def is_allowed(self, request: Request, given: Given, body: bytes) -> bool:
        """Return whether the request has the key with its secret, or the personal access token."""
        del given, body
        pair = "sso-key {api_key}:{api_secret}".format_map(self.credentials)
        return request.headers.get("Authorization") in {pair, f"Bearer {self.access_token}"}

    def fail(self, status: int, code: str, message: str) -> Response:
        """Return an error; a rate limit also has its time in the body."""
        later = {"retryAfterSec": WAIT_S} if (status, code, message) == _TOO_MANY else {}
        body = {"code": code, "message": message, "fields": [], **later}
        return JSONResponse(body, status_code=status)

    def _list_domains(self, given: Given) -> Any:
        marker, size = given.get("marker", ""), self.limit(int(given.get("limit", 1000)))
        rows = sorted(self.account.domains, key=lambda held: held.domain)
        shown = given.get("includes", "").split(",")
        behind = [
            {**_row(held), "nameServers": list(held.nameservers) if "nameServers" in shown else None}
            for held in rows
            if held.domain > marker
        ]
        return behind[:size] if marker else self.cut(behind, start=0, size=size)

    def _get_domain(self, given: Given) -> Any:
        held = self.held(given["domain"])
        return {**_row(held), "authCode": held.auth_code}

    def _change_domain(self, given: Given) -> Any:
        self.held(given["domain"]).auto_renew = given["renewAuto"]
        return Response(status_code=204)

    def _list_orders(self, given: Given) -> Any:
        start, end = given["periodStart"][:10], given["periodEnd"][:10]
        offset, limit = int(given.get("offset", 0)), int(given.get("limit", 100))
        orders = [each for each in self.account.orders if start <= each.charged_on.isoformat() <= end]
        rows = [_summary(each) for each in orders[offset : offset + limit]]
        return {"orders": rows, "pagination": {"first": "", "last": "", "total": len(orders)}}

    def _get_order(self, given: Given) -> Any:
        order = self.order(given["order_id"])
        return {
            **_summary(order),
            "items": [
                {
                    "label": _label(line),
                    "domains": list(line.domains),
                    "period": None if line.years is None else line.years * 12,
                    "periodUnit": "MONTH",
                    "quantity": 1,
                    "pricing": {
                        "subtotal": _micro(line.total - line.tax - line.fees),
                        "taxes": _micro(line.tax),
                        "fees": {"total": _micro(line.fees)},
                    },
                }
                for line in order.lines
            ],
        }

    def _list_actions(self, given: Given) -> Any:
        rows = [
            {
                "type": "TRANSFER_OUT" if each.direction == "out" else "TRANSFER_IN",
                "status": _STATES[each.state],
                "origination": "USER",
                "createdAt": each.started_at.isoformat(),
            }
            for each in self.account.transfers
            if each.domain == given["domain"]
        ]
        if not rows:
            raise Missing
        return rows


def _micro(amount: Decimal) -> int:
    return int(amount * 1_000_000)


def _row(held: FakeDomain) -> dict[str, Any]:
    return {
        "domain": held.domain,
        "domainId": 1,
        "status": _STATUSES.get(held.state, held.state),
        "createdAt": held.created_at.isoformat(),
        **held.until("expires"),
        "renewAuto": held.auto_renew,
        "renewable": True,
        "locked": held.locked,
        "privacy": held.privacy,
        "nameServers": list(held.nameservers),
    }


def _summary(order: FakePurchase) -> dict[str, Any]:
    total = sum((line.total for line in order.lines), Decimal(0))
    return {
        "orderId": order.order_id,
        **({"parentOrderId": order.parent_order_id} if order.parent_order_id else {}),
        "currency": order.currency,
        "createdAt": f"{order.charged_on.isoformat()}T10:00:00.000Z",
        "items": [{"label": _label(line)} for line in order.lines],
        "pricing": {"total": str(_micro(total))},
    }


def _label(line: FakeLine) -> str:
    return line.text or _LABELS[line.operation]
