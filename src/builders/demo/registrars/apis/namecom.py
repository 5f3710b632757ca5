"""A fake of Name.com's Core API."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar

from starlette.requests import Request

from builders.demo.registrars.fake import FakeDomain, FakePurchase, FakeRegistrar, Fault, Given, Handler, Missing

_TYPES = {"privacy": "whois_privacy"}
_USD = 1.25  # for a unit of any other currency
_STATES = {"pending": "pending_transfer", "completed": "completed", "cancelled": "canceled", "failed": "failed"}


class FakeNameCom(FakeRegistrar):
    """Name.com: HTTP Basic, numbered pages, prices on request, a refund as the status of an item."""

    credentials: ClassVar = {"username": "demo-test", "api_token": "nc-demo-token"}
    page_size = most_asked = 1000
    wait_header, waits_until = "X-RateLimit-Reset", True
    missing = (404, "", "Not Found")
    failures: ClassVar = {
        Fault.BAD_KEY: (401, "", "Unauthorized"),
        Fault.RATE_LIMITED: (429, "", "Too many requests"),
        Fault.RATE_LIMITED_SILENTLY: (429, "", "Too many requests"),
        Fault.REFUSED: (400, "", "Invalid Argument"),
    }

    def routes(self) -> Mapping[str, Handler]:
        """Return the operations of the API."""
        return {
            "GET /core/v1/domains": self._list_domains,
            "GET /core/v1/domains/{domain}:getAuthCode": self._get_auth_code,
            "GET /core/v1/domains/{domain}": lambda given: _row(self.held(given["domain"]), has_price=True),
            "PATCH /core/v1/domains/{domain}": self._change,
            "GET /core/v1/transfers/{domain}": self._get_transfer,
            "GET /core/v1/orders": self._list_orders,
        }

    def is_allowed(self, request: Request, given: Given, body: bytes) -> bool:
        """Return whether username and token are the customer's."""
        del given, body
        pair = f"{self.credentials['username']}:{self.credentials['api_token']}"
        return request.headers.get("Authorization") == f"Basic {b64encode(pair.encode()).decode()}"

    def _list_domains(self, given: Given) -> Any:
        has_price = given.get("includeRenewalPrice") == "true"
        return self._page(given, "domains", [_row(each, has_price=has_price) for each in self.account.domains])

    def _change(self, given: Given) -> Any:
        held = self.held(given["domain"])
        held.auto_renew = given.get("autorenewEnabled", held.auto_renew)
        return _row(held, has_price=True)

    def _get_auth_code(self, given: Given) -> Any:
        return {"authCode": self.held(given["domain"]).auth_code}

    def _get_transfer(self, given: Given) -> Any:
        transfer = self.transfer(given["domain"])
        if transfer.direction != "in":
            raise Missing
        state = _STATES[transfer.state]
        return {"domainName": transfer.domain, "email": "owner@example.com", "status": state}

    def _list_orders(self, given: Given) -> Any:
        orders = self.account.orders
        refunded = {
            (each.parent_order_id, line.operation, *line.domains)
            for each in orders
            if each.parent_order_id
            for line in each.lines
        }
        rows = [_order(each, refunded) for each in orders if each.parent_order_id is None]
        return self._page(given, "orders", rows)

    def _page(self, given: Given, name: str, rows: Sequence[dict[str, Any]]) -> Any:
        size, page = self.limit(int(given["perPage"])), int(given["page"])
        end = page * size
        more = {"nextPage": page + 1} if end < len(rows) else {}
        return {name: self.cut(rows, start=end - size, size=size), "totalCount": len(rows), **more}


def _row(held: FakeDomain, *, has_price: bool) -> dict[str, Any]:
    return {
        "domainName": held.domain,
        "createDate": held.created_at.isoformat(),
        **held.until("expireDate"),
        "autorenewEnabled": held.auto_renew,
        "locked": held.locked,
        "locks": ["clientTransferProhibited"] * held.locked + ["clientHold"] * (held.state == "suspended"),
        "privacyEnabled": held.privacy,
        "nameservers": list(held.nameservers),
        **({"renewalPrice": float(held.renewal_price)} if has_price else {}),
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
