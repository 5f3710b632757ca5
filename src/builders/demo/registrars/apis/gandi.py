"""A fake of Gandi's API v5."""

from collections.abc import Mapping
from typing import Any, ClassVar

from starlette.responses import JSONResponse, Response

from builders.demo.registrars.fake import FakeDomain, FakeRegistrar, Fault, Given, Handler

_STATUSES = {
    **dict.fromkeys(("active", "expired"), ()),
    "redemption": ("redemptionPeriod",),
    "suspended": ("clientHold",),
    "leaving": ("pendingTransfer",),
}
_ORGANIZATION = "ba1167be-2f76-11e9-9dfb-00163ec4cb01"


class FakeGandi(FakeRegistrar):
    """Gandi: a bearer token, numbered pages with the total in a header.

    Auto-renew is a boolean in the list and an object in the details, and is set with the latter. A price is
    that of a year and a process, before and after taxes.
    """

    credentials: ClassVar = {"token": "gandi-demo-token"}
    headers: ClassVar = {"Authorization": "Bearer {token}"}
    path = "/v5"
    page_size = 500
    currency = "EUR"
    reads_before_switch = 1
    missing = (404, "404", "The resource could not be found.")
    failures: ClassVar = {
        Fault.BAD_KEY: (401, "401", "The server could not verify that you authorized to access the document."),
        Fault.RATE_LIMITED: (429, "429", "Too many requests"),
        Fault.RATE_LIMITED_SILENTLY: (429, "429", "Too many requests"),
        Fault.REFUSED: (400, "400", "per_page is out of range"),
    }

    def routes(self) -> Mapping[str, Handler]:
        """Return the operations of the API."""
        return {
            "GET /domain/domains": self._list_domains,
            "GET /domain/domains/{domain}": self._get_domain,
            "PATCH /domain/domains/{domain}/autorenew": self._switch_auto_renew,
            "GET /billing/price/domain": self._list_prices,
        }

    def fail(self, status: int, code: str, message: str) -> Response:
        """Return an error with its four members."""
        body = {"cause": "Bad Request", "code": int(code), "message": message, "object": "HTTPRequest"}
        return JSONResponse(body, status_code=status)

    def _list_domains(self, given: Given) -> Any:
        rows = self.page(int(given["page"]), int(given["per_page"]))
        headers = {"Total-Count": str(len(self.account.domains))}
        return JSONResponse([{**_row(each), "autorenew": each.auto_renew} for each in rows], headers=headers)

    def _get_domain(self, given: Given) -> Any:
        held = self.held(given["domain"])
        renewal = {"dates": [], "duration": 1, "enabled": held.auto_renew, "org_id": _ORGANIZATION}
        return {**_row(held), "autorenew": renewal, "authinfo": held.auth_code}

    def _switch_auto_renew(self, given: Given) -> Any:
        """Set auto-renew; it needs the organization that pays."""
        held = self.held(given["domain"])
        if given["enabled"] and given.get("org_id") != _ORGANIZATION:
            return self.fail(400, "400", "org_id is required")
        held.auto_renew = given["enabled"]
        return {"message": "Confirmation message."}

    def _list_prices(self, given: Given) -> Any:
        suffix = given["name"].partition(".")[2]
        [price] = {each.renewal_price for each in self.account.domains if each.domain.endswith(f".{suffix}")}
        products = [_product(suffix, process, float(price)) for process in ("create", "renew")]
        wanted = given.get("processes")
        found = [each for each in products if each["process"] in (wanted or "create")]
        return {"currency": self.currency, "grid": "A", "products": found}


def _product(suffix: str, process: str, price: float) -> dict[str, Any]:
    """Return the price of a year, and a lower one for several years; that of a registration is another."""
    net = price if process == "renew" else price / 2
    common = {"discount": False, "duration_unit": "y", "features": [], "options": {"phase": "golive"}}
    prices = [
        {**common, "max_duration": 10, "min_duration": 3, "price_before_taxes": net - 1, "price_after_taxes": net},
        {**common, "max_duration": 2, "min_duration": 1, "price_before_taxes": net, "price_after_taxes": net + 2},
    ]
    return {"name": f".{suffix}", "phases": [], "prices": prices, "process": process, "status": "available"}


def _row(held: FakeDomain) -> dict[str, Any]:
    locks = ["clientTransferProhibited"] if held.locked else []
    return {
        "fqdn": held.domain,
        "status": [*locks, *_STATUSES[held.state]],
        "dates": {"registry_created_at": held.created_at.isoformat(), **held.until("registry_ends_at")},
        "nameserver": {"current": "abc", "hosts": list(held.nameservers)},
    }
