"""A fake of OVHcloud's API, which checks signatures; after the schemas of eu.api.ovh.com/console."""

from collections.abc import Mapping
from datetime import timedelta
from hashlib import sha1
from typing import Any, ClassVar

from starlette.requests import Request

from builders.demo.registrars.fake import FakeRegistrar, Fault, Given, Handler, Refused

_STATUSES = {**dict.fromkeys(("460", "active", "suspended"), "ok"), "expired": "expired", "redemption": "expired"}
_RENEW = {"automatic": True, "deleteAtExpiration": False, "forced": False, "manualPayment": False, "period": 12}
_WORDS = {
    "registration": "Domain registration",
    "renewal": "Domain renewal",
    "transfer": "Domain transfer",
    "redemption": "Domain restore",
    "privacy": "Privacy",
    "other": "Web hosting",
}


class FakeOvh(FakeRegistrar):
    """OVHcloud: signed requests, a list of names only, prices as floats, a refund as a negative bill."""

    credentials: ClassVar = {
        "application_key": "ovh-demo",
        "application_secret": "ovh-demo-secret",
        "consumer_key": "ovh-demo-consumer",
    }
    path = "/1.0"
    page_size = 20
    has_pages = shows_gaps = False
    reads_before_switch = 1
    missing = (404, "", "The requested object does not exist")
    failures: ClassVar = {
        Fault.BAD_KEY: (403, "", "This credential is not valid"),
        Fault.RATE_LIMITED: (429, "", "Too many requests"),
        Fault.RATE_LIMITED_SILENTLY: (429, "", "Too many requests"),
        Fault.REFUSED: (400, "", "Invalid parameter"),
    }

    def routes(self) -> Mapping[str, Handler]:
        """Return the operations of the API."""
        return {
            "GET /domain": lambda _: [each.domain for each in self.account.domains],
            "GET /domain/{domain}": self._get_domain,
            "GET /domain/{domain}/serviceInfos": self._get_service,
            "PUT /domain/{domain}/serviceInfos": self._set_service,
            "GET /services/{service_id}": self._get_price,
            "GET /domain/{domain}/authInfo": lambda given: self.held(given["domain"]).auth_code,
            "GET /me/bill": self._list_bills,
            "GET /me/bill/{number}": self._get_bill,
            "GET /me/bill/{number}/details": self._list_lines,
            "GET /me/bill/{number}/details/{line}": self._get_line,
        }

    def is_allowed(self, request: Request, given: Given, body: bytes) -> bool:
        """Return whether the signature is that of the customer's keys."""
        del given
        sent, keys = request.headers, self.credentials
        secrets = f"{keys['application_secret']}+{keys['consumer_key']}"
        text = f"{secrets}+{request.method}+{request.url}+{body.decode()}+{sent.get('X-Ovh-Timestamp')}"
        return sent.get("X-Ovh-Signature") == f"$1${sha1(text.encode(), usedforsecurity=False).hexdigest()}"

    def _get_domain(self, given: Given) -> Any:
        held = self.held(given["domain"])
        if held.state == "460":
            raise Refused(460, "", "This service is expired")
        return {
            "domain": held.domain,
            "transferLockStatus": "locked" if held.locked else "unlocked",
            "suspensionState": "suspended" if held.state == "suspended" else "not_suspended",
        }

    def _get_service(self, given: Given) -> Any:
        held = self.held(given["domain"])
        return {
            "serviceId": 1 + self.account.domains.index(held),
            "domain": held.domain,
            "creation": held.created_at.date().isoformat(),
            "expiration": held.expires_at.date().isoformat() if held.expires_at else None,
            "status": _STATUSES[held.state],
            "renew": _RENEW | {"automatic": held.auto_renew},
            "possibleRenewPeriod": [12, 24],
        }

    def _set_service(self, given: Given) -> Any:
        held, renew = self.held(given["domain"]), given["renew"]
        if renew.keys() < {"automatic", "deleteAtExpiration", "forced"}:
            raise Refused(400, "", "Missing parameter(s): renew")
        if renew["automatic"] and renew["deleteAtExpiration"]:
            raise Refused(400, "", "A service that is deleted at its expiration cannot be renewed automatically")
        held.auto_renew = renew["automatic"]

    def _get_price(self, given: Given) -> Any:
        held = self.account.domains[int(given["service_id"]) - 1]
        price = {
            "currencyCode": self.currency,
            "value": float(held.renewal_price),
            "text": f"{held.renewal_price} $",
        }
        pricing = {"duration": "P1Y", "interval": 12, "pricingMode": "default", "price": price}
        return {"serviceId": int(given["service_id"]), "billing": {"pricing": pricing}}

    def _list_bills(self, given: Given) -> Any:
        start, end = given["date.from"], given["date.to"]
        return [each.order_id for each in self.account.orders if start <= each.charged_on.isoformat() <= end]

    def _get_bill(self, given: Given) -> Any:
        order = self.order(given["number"])
        return {"billId": order.order_id, "date": f"{order.charged_on.isoformat()}T10:00:00+00:00"}

    def _list_lines(self, given: Given) -> Any:
        return [str(n) for n, _ in enumerate(self.order(given["number"]).lines)]

    def _get_line(self, given: Given) -> Any:
        order = self.order(given["number"])
        line = order.lines[int(given["line"])]
        return {
            "domain": line.domains[0] if line.domains else "",
            "description": line.text or f"{_WORDS[line.operation]} - {line.domains[0]}",
            "periodStart": order.charged_on.isoformat(),
            "periodEnd": (order.charged_on + timedelta(days=365 * (line.years or 0))).isoformat(),
            "totalPrice": {"value": float(line.total), "currencyCode": order.currency, "text": str(line.total)},
        }
