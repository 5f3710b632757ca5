"""A fake of OVHcloud's API, which checks signatures."""

from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha1
from typing import ClassVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from builders.demo.registrars.fake import WAIT_S, FakePurchase, FakeRegistrar, Fault

_STATUSES = {"active": "ok", "expired": "expired", "redemption": "expired"}
_WORDS = {
    "registration": "Domain registration",
    "renewal": "Domain renewal",
    "transfer": "Domain transfer",
    "redemption": "Domain restore",
    "privacy": "Privacy",
    "other": "Web hosting",
}
_ERRORS = {
    Fault.BAD_KEY: (403, "This credential is not valid"),
    Fault.RATE_LIMITED: (429, "Too many requests"),
    Fault.RATE_LIMITED_SILENTLY: (429, "Too many requests"),
    Fault.REFUSED: (400, "Invalid parameter"),
}


class FakeOvh(FakeRegistrar):
    """OVHcloud: signed requests, a list of names only, prices as floats, a refund as a negative bill."""

    provider = "ovh"
    credentials: ClassVar = {
        "application_key": "ovh-demo",
        "application_secret": "ovh-demo-secret",
        "consumer_key": "ovh-demo-consumer",
    }
    path = "/1.0"
    page_size = 20
    faults = frozenset(Fault) - {Fault.RESTRICTED, Fault.IP_NOT_ALLOWED}

    def routes(self) -> Sequence[Route]:
        """Return the routes of the API."""
        domain, bill = f"{self.path}/domain/{{domain}}", f"{self.path}/me/bill/{{number}}"
        return [
            Route(f"{self.path}/domain", self._list_domains),
            Route(domain, self._get_domain),
            Route(f"{domain}/serviceInfos", self._get_service),
            Route(f"{domain}/authInfo", self._get_auth_code),
            Route(f"{self.path}/me/bill", self._list_bills),
            Route(bill, self._get_bill),
            Route(f"{bill}/details", self._list_lines),
            Route(f"{bill}/details/{{line}}", self._get_line),
        ]

    async def is_allowed(self, request: Request) -> bool:
        """Return whether the signature is that of the customer's keys."""
        given, keys = request.headers, self.credentials
        secrets = f"{keys['application_secret']}+{keys['consumer_key']}"
        text = f"{secrets}+{request.method}+{request.url}++{given.get('X-Ovh-Timestamp')}"
        expected = f"$1${sha1(text.encode(), usedforsecurity=False).hexdigest()}"
        return given.get("X-Ovh-Signature") == expected

    def refuse(self, fault: Fault) -> Response:
        """Return an error as OVHcloud writes it."""
        status, message = _ERRORS[fault]
        headers = {"Retry-After": str(WAIT_S)} if fault is Fault.RATE_LIMITED else {}
        return JSONResponse({"message": message}, status_code=status, headers=headers)

    async def _list_domains(self, _request: Request) -> Response:
        return JSONResponse([each.domain for each in self.account.domains])

    async def _get_domain(self, request: Request) -> Response:
        held = self.find(request.path_params["domain"])
        if held is None:
            return _not_found()
        return JSONResponse({"domain": held.domain, "transferLockStatus": "locked" if held.locked else "unlocked"})

    async def _get_service(self, request: Request) -> Response:
        held = self.find(request.path_params["domain"])
        if held is None:
            return _not_found()
        body = {
            "creation": held.created_at.date().isoformat(),
            "expiration": held.expires_at.date().isoformat() if held.expires_at else None,
            "status": _STATUSES[held.state],
            "renew": {"automatic": held.auto_renew, "deleteAtExpiration": False, "forced": False, "period": 12},
        }
        return JSONResponse(body)

    async def _get_auth_code(self, request: Request) -> Response:
        held = self.find(request.path_params["domain"])
        return _not_found() if held is None else JSONResponse(held.auth_code)

    async def _list_bills(self, request: Request) -> Response:
        start, end = request.query_params["date.from"], request.query_params["date.to"]
        found = [each.order_id for each in self.account.orders if start <= each.charged_on.isoformat() <= end]
        return JSONResponse(found)

    async def _get_bill(self, request: Request) -> Response:
        order = self._find_order(request)
        return JSONResponse({"billId": order.order_id, "date": f"{order.charged_on.isoformat()}T10:00:00+00:00"})

    async def _list_lines(self, request: Request) -> Response:
        return JSONResponse([str(n) for n, _ in enumerate(self._find_order(request).lines)])

    async def _get_line(self, request: Request) -> Response:
        order = self._find_order(request)
        line = order.lines[int(request.path_params["line"])]
        end = order.charged_on + timedelta(days=365 * (line.years or 0))
        body = {
            "domain": line.domains[0] if line.domains else "",
            "description": line.text or f"{_WORDS[line.operation]} - {line.domains[0]}",
            "periodStart": order.charged_on.isoformat(),
            "periodEnd": end.isoformat(),
            "totalPrice": {"value": float(line.total), "currencyCode": order.currency, "text": str(line.total)},
        }
        return JSONResponse(body)

    def _find_order(self, request: Request) -> FakePurchase:
        return next(each for each in self.account.orders if each.order_id == request.path_params["number"])


def _not_found() -> Response:
    return JSONResponse({"message": "The requested object does not exist"}, status_code=404)
