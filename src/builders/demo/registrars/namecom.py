"""A fake of Name.com's Core API."""

from base64 import b64encode
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, ClassVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from builders.demo.registrars.fake import WAIT_S, FakeDomain, FakePurchase, FakeRegistrar, Fault

_ERRORS = {
    Fault.BAD_KEY: (401, "Unauthorized"),
    Fault.RATE_LIMITED: (429, "Too many requests"),
    Fault.RATE_LIMITED_SILENTLY: (429, "Too many requests"),
    Fault.REFUSED: (400, "Invalid Argument"),
}
_TYPES = {"privacy": "whois_privacy"}
_USD = 1.25  # for a unit of any other currency
_STATES = {"pending": "pending_transfer", "completed": "completed", "cancelled": "canceled", "failed": "failed"}


class FakeNameCom(FakeRegistrar):
    """Name.com: HTTP Basic, numbered pages, false flags omitted, a refund as the status of an item."""

    provider = "namecom"
    credentials: ClassVar = {"username": "demo-test", "api_token": "nc-demo-token"}
    page_size = 1000
    faults = frozenset(Fault) - {Fault.RESTRICTED, Fault.IP_NOT_ALLOWED}

    def routes(self) -> Sequence[Route]:
        """Return the routes of the API."""
        return [
            Route("/core/v1/domains", self._list_domains),
            Route("/core/v1/domains/{domain}:getAuthCode", self._get_auth_code),
            Route("/core/v1/domains/{domain}", self._get_domain),
            Route("/core/v1/transfers/{domain}", self._get_transfer),
            Route("/core/v1/orders", self._list_orders),
        ]

    async def is_allowed(self, request: Request) -> bool:
        """Return whether username and token are the customer's."""
        pair = f"{self.credentials['username']}:{self.credentials['api_token']}"
        return request.headers.get("Authorization") == f"Basic {b64encode(pair.encode()).decode()}"

    def refuse(self, fault: Fault) -> Response:
        """Return an error as Name.com writes it."""
        status, message = _ERRORS[fault]
        headers = {"Retry-After": str(WAIT_S)} if fault is Fault.RATE_LIMITED else {}
        return JSONResponse({"message": message}, status_code=status, headers=headers)

    async def _list_domains(self, request: Request) -> Response:
        return self._page(request, "domains", [_row(each) for each in self.account.domains])

    async def _get_domain(self, request: Request) -> Response:
        held = self.find(request.path_params["domain"])
        return _not_found() if held is None else JSONResponse(_row(held))

    async def _get_auth_code(self, request: Request) -> Response:
        held = self.find(request.path_params["domain"])
        return _not_found() if held is None else JSONResponse({"authCode": held.auth_code})

    async def _get_transfer(self, request: Request) -> Response:
        for each in self.account.transfers:
            if each.domain == request.path_params["domain"] and each.direction == "in":
                return JSONResponse(
                    {"domainName": each.domain, "email": "owner@example.com", "status": _STATES[each.state]}
                )
        return _not_found()

    async def _list_orders(self, request: Request) -> Response:
        orders = self.account.orders
        refunded = {
            (each.parent_order_id, line.operation, *line.domains)
            for each in orders
            if each.parent_order_id
            for line in each.lines
        }
        rows = [_order(each, refunded) for each in orders if each.parent_order_id is None]
        return self._page(request, "orders", rows)

    def _page(self, request: Request, name: str, rows: Sequence[dict[str, Any]]) -> Response:
        size, page = self.limit(int(request.query_params["perPage"])), int(request.query_params["page"])
        end = page * size
        more = {"nextPage": page + 1} if end < len(rows) else {}
        return JSONResponse({name: self.cut(rows, start=end - size, size=size), "totalCount": len(rows), **more})


def _not_found() -> Response:
    return JSONResponse({"message": "Not Found"}, status_code=404)


def _row(held: FakeDomain) -> dict[str, Any]:
    flags = {"autorenewEnabled": held.auto_renew, "locked": held.locked, "privacyEnabled": held.privacy}
    return {
        "domainName": held.domain,
        "createDate": held.created_at.isoformat(),
        **({"expireDate": held.expires_at.isoformat()} if held.expires_at else {}),
        **{name: True for name, value in flags.items() if value},
        "nameservers": list(held.nameservers),
        "renewalPrice": float(held.renewal_price),
    }


def _price(price: Decimal, currency: str) -> dict[str, float]:
    if currency == "USD":
        return {"price": float(price)}
    return {"price": float(price) * _USD, "priceNonUsd": float(price)}


def _order(order: FakePurchase, refunded: set[tuple[str, ...]]) -> dict[str, Any]:
    items = [
        {
            "id": n,
            "status": "refunded" if (order.order_id, line.operation, *line.domains) in refunded else "success",
            "name": line.domains[0] if line.domains else line.text,
            "tld": line.domains[0].rpartition(".")[2] if line.domains else "",
            "type": _TYPES.get(line.operation, line.operation),
            **_price(line.total - line.tax, order.currency),
            "taxAmount": float(line.tax),
            "quantity": 1,
            "duration": line.years,
            "interval": "year",
        }
        for n, line in enumerate(order.lines, start=1)
    ]
    return {
        "id": int(order.order_id),
        "createDate": f"{order.charged_on.isoformat()}T10:00:00Z",
        "status": "success",
        "currency": order.currency,
        "orderItems": items,
    }
