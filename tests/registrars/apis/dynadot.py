"""A fake of Dynadot's REST API 2, after version 2.0.0 of www.dynadot.com/domain/api-document.

Times are milliseconds, and most errors come with HTTP 200 and their code in the body.
"""

import hmac
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from builders.demo.registrars.fake import (
    FakeDomain,
    FakeLine,
    FakePurchase,
    FakeRegistrar,
    FakeTransfer,
    Fault,
    Given,
    Handler,
    Refused,
)

T = TypeVar("T")
_STATUSES = {"active": "active", "expired": "expired", "redemption": "deleted by registry", "suspended": "active"}
_STATES = {"pending": "Waiting", "completed": "Transferred", "failed": "Failed", "cancelled": "Cancelled"}
_OPTIONS = {"auto": True, "donot": False}
_TYPES = {
    "registration": "Domain Registration",
    "renewal": "Domain Renewal",
    "transfer": "Domain Transfer",
    "redemption": "Domain Restore",
    "privacy": "Privacy",
    "other": "Other",
}


class FakeDynadot(FakeRegistrar):
    """Dynadot: signed requests, numbered pages with a total, of active domains unless a status is asked for."""

    credentials: ClassVar = {"api_key": "dd-demo-key", "api_secret": "dd-demo-secret"}
    page_size = most_asked = 100
    missing = (404, "Not Found", "Can not find the domain in the account.")
    failures: ClassVar = {
        Fault.BAD_KEY: (
            401,
            "Unauthorized",
            "The provided API key is invalid, expired, or missing. Please verify your key is correct and active.",
        ),
        Fault.RATE_LIMITED_SILENTLY: (
            429,
            "Too Many Requests",
            "Too many requests. Rate limit exceeded. Please try again after 60 seconds.",
        ),
        Fault.REFUSED: (400, "Bad Request", "The value for parameter page_size is invalid."),
    }
    has_refunds = False

    def routes(self) -> Mapping[str, Handler]:
        """Return the operations of the API."""
        domains, one = "/restful/v2/domains", "/restful/v2/domains/{domain}"
        return {
            f"GET {domains}": self._list_domains,
            f"GET {domains}/get_tld_price": self._list_prices,
            f"GET {one}": lambda given: {"domain_info": _row(self.held(given["domain"]))},
            f"GET {one}/transfer_auth_code": self._get_auth_code,
            f"GET {one}/transfer_status": self._get_transfer,
            f"PUT {one}/renew_option": self._set_renew_option,
            "GET /restful/v2/orders": self._list_orders,
        }

    def is_allowed(self, request: Request, given: Given, body: bytes) -> bool:
        """Return whether key and signature are the customer's; a request names the type of its content."""
        del given
        key, secret = self.credentials["api_key"], self.credentials["api_secret"]
        path = request.url.path.removeprefix(request.scope["root_path"])
        path += f"?{request.url.query}" if request.url.query else ""
        text = f"{key}\n{path}\n{request.headers.get('X-Request-ID', '')}\n{body.decode()}"
        signature = b64encode(hmac.digest(secret.encode(), text.encode(), "sha256")).decode()
        sent = tuple(map(request.headers.get, ("Authorization", "X-Signature", "Content-Type")))
        return sent == (f"Bearer {key}", signature, "application/json")

    def reply(self, content: Any) -> Response:
        """Return an envelope."""
        return JSONResponse({"code": 200, "message": "Success", "data": content})

    def fail(self, status: int, code: str, message: str) -> Response:
        """Return an envelope with the error; only a refused key and the rate limit have a status of their own."""
        body = {"code": status, "message": code, "error": {"description": message}}
        return JSONResponse(body, status_code=status if status in {401, 429} else 200)

    def _list_domains(self, given: Given) -> Any:
        states = {"active"} if given.get("status", "active") == "active" else {*_STATUSES, given["status"]}
        held = self.account.domains if given.get("status") == "all" else self._in(states)
        rows, paging = self._page(held, given)
        return {"domain_info_list": [_row(each) for each in rows], "pagination_result": paging}

    def _in(self, states: set[str]) -> Sequence[FakeDomain]:
        return [each for each in self.account.domains if each.state in states]

    def _list_prices(self, given: Given) -> Any:
        tlds = sorted({f".{each.domain.partition('.')[2]}" for each in self.account.domains})
        price = str(self.account.domains[0].renewal_price) if tlds else "--"
        rows, paging = self._page([each for each in tlds if each.lstrip(".") in given["tlds"].split(",")], given)
        prices = [{"tld": each, "all_years_renew_price": [price], "restore_price": "--"} for each in rows]
        return {"currency": given["currency"].upper(), "tld_price_list": prices, "pagination_result": paging}

    def _page(self, rows: Sequence[T], given: Given) -> tuple[Sequence[T], Mapping[str, Any]]:
        """Return a page and its place; of a list with rows, a page behind the last one is out of range."""
        number, asked = int(given.get("page", 1)), int(given.get("page_size", 25))
        size = self.limit(asked)
        start = (number - 1) * size
        if start and start >= len(rows):
            raise Refused(400, "Bad Request", "The page is out of range")
        more = "Yes" if start + size < len(rows) else "No"
        place = {"page": number, "page_size": size, "total": len(rows), "has_next_page": more}
        return self.cut(rows, start=start, size=size), place

    def _get_auth_code(self, given: Given) -> Any:
        held = self.held(given["domain"])
        if held.locked and held.state == "60-day lock":
            raise Refused(409, "Conflict", "The domain has the 60-day transfer lock.")
        return {"auth_code": held.auth_code}

    def _get_transfer(self, given: Given) -> Any:
        direction = {"transfer_in": "in", "transfer_away": "out"}[given["transfer_type"]]
        rows = [
            _transfer(each)
            for each in self.account.transfers
            if (each.domain, each.direction) == (given["domain"], direction)
        ]
        if not rows:
            raise Refused(404, "Not Found", "Can not find the transfer order.")
        return {"domain_transfer_status_list": rows}

    def _set_renew_option(self, given: Given) -> Any:
        held = self.held(given["domain"])
        held.is_default = given["renew_option"] == "reset"
        held.auto_renew = _OPTIONS.get(given["renew_option"], held.auto_renew)
        return {}

    def _list_orders(self, given: Given) -> Any:
        if given.get("search_type") != "date_range":
            raise Refused(400, "Bad Request", "The required parameter search_type is missing.")
        start, end = int(given["start_time"]), int(given["end_time"])
        found = [
            each for each in self.account.orders if start <= _submitted(each) <= end and not each.parent_order_id
        ]
        return {"order_list": [_order(each) for each in found]}


def _millis(time: datetime) -> int:
    return int(time.timestamp() * 1000)


def _row(held: FakeDomain) -> dict[str, Any]:
    option = "auto-renew" if held.auto_renew else "do not renew"
    return {
        "domain_name": held.domain,
        "registration_date": _millis(held.created_at),
        "expiration_date": _millis(held.expires_at) if held.expires_at else None,
        "locked": "Yes" if held.locked else "No",
        "disabled": "No",
        "hold": "Yes" if held.state == "suspended" else "No",
        "privacy": "Full Privacy" if held.privacy else "Privacy Off",
        "renew_option": "no renew option" if held.is_default else option,
        "status": _STATUSES.get(held.state, held.state),
        "glue_info": {"nameserver_list": [{"server_name": each} for each in held.nameservers]},
    }


def _transfer(transfer: FakeTransfer) -> dict[str, Any]:
    done = transfer.state == "completed"
    return {
        "order_id": "1",
        "transfer_status": _STATES[transfer.state],
        "failed_reason": "",
        "order_created_date": _millis(transfer.started_at),
        "order_completed_date": _millis(transfer.started_at) if done else 0,
    }


def _submitted(order: FakePurchase) -> int:
    day = order.charged_on
    return _millis(datetime(day.year, day.month, day.day, 10, tzinfo=UTC))


def _order(order: FakePurchase) -> dict[str, Any]:
    total = sum(line.total for line in order.lines)
    return {
        "order_id": int(order.order_id),
        "submitted_date": _submitted(order),
        "currency": order.currency,
        "payment_method": "Account Balance",
        "total_cost": f"${total}",
        "total_paid": f"${total}",
        "status": "Completed",
        "order_item_list": [_item(each) for each in order.lines],
    }


def _item(line: FakeLine) -> dict[str, Any]:
    name = line.domains[0] if line.domains else ""
    item = {"type": _TYPES[line.operation], "name": name, "duration": line.years, "cost": f"{line.total}"}
    return {**item, "status": "Completed"}
