"""A fake of GoDaddy's Domains and Orders APIs."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, ClassVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from builders.demo.registrars.fake import WAIT_S, FakeDomain, FakeLine, FakePurchase, FakeRegistrar, Fault

_STATUSES = {"active": "ACTIVE", "expired": "EXPIRED", "redemption": "CANCELLED_REDEEMABLE"}
_STATES = {"pending": "PENDING", "completed": "SUCCESS", "cancelled": "CANCELLED", "failed": "FAILED"}
_LABELS = {
    "registration": ".EXAMPLE Domain Registration",
    "renewal": ".EXAMPLE Domain Name Renewal",
    "transfer": ".EXAMPLE Domain Name Transfer",
    "redemption": "Redemption Fee",
    "privacy": "Full Domain Privacy",
    "other": "Deluxe Hosting",
}
_ERRORS = {
    Fault.BAD_KEY: (401, "UNABLE_TO_AUTHENTICATE", "Unauthorized : Could not authenticate API key/secret"),
    Fault.RESTRICTED: (403, "ACCESS_DENIED", "Authenticated user is not allowed access"),
    Fault.RATE_LIMITED: (429, "TOO_MANY_REQUESTS", "Too many requests received within interval"),
    Fault.RATE_LIMITED_SILENTLY: (429, "TOO_MANY_REQUESTS", "Too many requests received within interval"),
    Fault.REFUSED: (422, "INVALID_VALUE", "The limit is not valid"),
}


class FakeGoDaddy(FakeRegistrar):
    """GoDaddy: sso-key, pages after a marker, money in micro-units, a refund as an order with a parent."""

    provider = "godaddy"
    credentials: ClassVar = {"api_key": "gd-demo", "api_secret": "gd-demo-secret", "customer_id": "c-1"}
    page_size = 1000
    faults = frozenset(Fault) - {Fault.IP_NOT_ALLOWED}

    def routes(self) -> Sequence[Route]:
        """Return the routes of the API."""
        customer = f"/v2/customers/{self.credentials['customer_id']}"
        return [
            Route("/v1/domains", self._list_domains),
            Route("/v1/domains/{domain}", self._get_domain),
            Route("/v1/domains/{domain}", self._change_domain, methods=["PATCH"]),
            Route("/v1/orders", self._list_orders),
            Route("/v1/orders/{order_id}", self._get_order),
            Route(f"{customer}/domains/{{domain}}/actions", self._list_actions),
        ]

    async def is_allowed(self, request: Request) -> bool:
        """Return whether key and secret are the customer's."""
        pair = f"{self.credentials['api_key']}:{self.credentials['api_secret']}"
        return request.headers.get("Authorization") == f"sso-key {pair}"

    def refuse(self, fault: Fault) -> Response:
        """Return an error as GoDaddy writes it."""
        status, code, message = _ERRORS[fault]
        if fault is Fault.RATE_LIMITED:
            body = {"code": code, "message": message, "retryAfterSec": WAIT_S}
            return JSONResponse(body, status_code=status, headers={"Retry-After": str(WAIT_S)})
        return JSONResponse({"code": code, "message": message}, status_code=status)

    async def _list_domains(self, request: Request) -> Response:
        marker, limit = request.query_params.get("marker", ""), int(request.query_params.get("limit", 1000))
        rows = sorted(self.account.domains, key=lambda held: held.domain)
        behind = [_row(held) for held in rows if held.domain > marker]
        size = self.limit(limit)
        return JSONResponse(behind[:size] if marker else self.cut(behind, start=0, size=size))

    async def _get_domain(self, request: Request) -> Response:
        held = self.find(request.path_params["domain"])
        return _not_found() if held is None else JSONResponse({**_row(held), "authCode": held.auth_code})

    async def _change_domain(self, request: Request) -> Response:
        held = self.find(request.path_params["domain"])
        if held is None:
            return _not_found()
        held.auto_renew = bool((await request.json())["renewAuto"])
        return Response(status_code=204)

    async def _list_orders(self, request: Request) -> Response:
        start, end = request.query_params["periodStart"][:10], request.query_params["periodEnd"][:10]
        offset, limit = int(request.query_params.get("offset", 0)), int(request.query_params.get("limit", 100))
        orders = [each for each in self.account.orders if start <= each.charged_on.isoformat() <= end]
        rows = [_summary(each) for each in orders[offset : offset + limit]]
        return JSONResponse({"orders": rows, "pagination": {"first": "", "last": "", "total": len(orders)}})

    async def _get_order(self, request: Request) -> Response:
        for each in self.account.orders:
            if each.order_id == request.path_params["order_id"]:
                return JSONResponse({**_summary(each), "items": [_item(line) for line in each.lines]})
        return _not_found()

    async def _list_actions(self, request: Request) -> Response:
        name = request.path_params["domain"]
        rows = [
            {
                "type": "TRANSFER_OUT" if each.direction == "out" else "TRANSFER_IN",
                "status": _STATES[each.state],
                "origination": "USER",
                "createdAt": each.started_at.isoformat(),
            }
            for each in self.account.transfers
            if each.domain == name
        ]
        return JSONResponse(rows) if rows else _not_found()


def _not_found() -> Response:
    return JSONResponse({"code": "NOT_FOUND", "message": "The domain is not found"}, status_code=404)


def _micro(amount: Decimal) -> int:
    return int(amount * 1_000_000)


def _row(held: FakeDomain) -> dict[str, Any]:
    return {
        "domain": held.domain,
        "domainId": 1,
        "status": _STATUSES.get(held.state, held.state),
        "createdAt": held.created_at.isoformat(),
        **({"expires": held.expires_at.isoformat()} if held.expires_at else {}),
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


def _item(line: FakeLine) -> dict[str, Any]:
    return {
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
