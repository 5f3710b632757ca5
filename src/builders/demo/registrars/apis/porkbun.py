"""A fake of Porkbun's API v3."""

from collections.abc import Mapping
from typing import Any, ClassVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from builders.demo.registrars.fake import FakeRegistrar, Fault, Given, Handler, Missing

_TIME = "%Y-%m-%d %H:%M:%S"
_STATES = {"pending": "PENDINGTRANSFER", "completed": "DONE", "cancelled": "CANCELED", "failed": "CANCELED"}


class FakePorkbun(FakeRegistrar):
    """Porkbun: keys in the body, pages of 1,000, flags as text or number, errors also with HTTP 200.

    Prices need no keys. The result of a change is that of each domain, inside a success.
    """

    credentials: ClassVar = {"api_key": "pk1_demo", "secret_api_key": "sk1_demo"}
    members: ClassVar = {"apikey": "{api_key}", "secretapikey": "{secret_api_key}"}
    path = "/api/json/v3"
    page_size = 1000
    wait_header, waits_until = "X-RateLimit-Reset", True
    failures: ClassVar = {
        Fault.BAD_KEY: (400, "INVALID_API_KEYS_001", "Invalid API key."),
        Fault.RATE_LIMITED: (429, "RATE_LIMIT_EXCEEDED", "Rate limit exceeded."),
        Fault.RATE_LIMITED_SILENTLY: (429, "RATE_LIMIT_EXCEEDED", "Rate limit exceeded."),
        Fault.REFUSED: (200, "INVALID_START", "The start is not valid."),
    }
    transfer_states = frozenset({"pending", "completed", "cancelled"})

    def routes(self) -> Mapping[str, Handler]:
        """Return the operations of the API."""
        return {
            "POST /domain/listAll": self._list_domains,
            "POST /domain/listTransfers": self._list_transfers,
            "POST /domain/updateAutoRenew/{domain}": self._switch_auto_renew,
            "POST /pricing/get": self._list_prices,
        }

    def is_allowed(self, request: Request, given: Given, body: bytes) -> bool:
        """Return whether the request has the customer's keys, or needs none."""
        return request.url.path.endswith("/pricing/get") or super().is_allowed(request, given, body)

    def reply(self, content: Any) -> Response:
        """Return the content with its status."""
        return JSONResponse({"status": "SUCCESS", **content})

    def fail(self, status: int, code: str, message: str) -> Response:
        """Return an error with its status."""
        body = {"status": "ERROR", "code": code, "message": message, "requestId": "req-1"}
        return JSONResponse(body, status_code=status)

    def _list_domains(self, given: Given) -> Any:
        start = int(given.get("start") or 0)
        rows = self.cut(self.account.domains, start=start, size=self.limit(self.page_size))
        return {
            "count": len(rows),
            "domains": [
                {
                    "domain": each.domain,
                    "status": each.state.upper(),
                    "tld": each.domain.rpartition(".")[2],
                    "createDate": each.created_at.strftime(_TIME),
                    "expireDate": each.expires_at.strftime(_TIME) if each.expires_at else None,
                    "securityLock": "1" if each.locked else "0",
                    "whoisPrivacy": "1" if each.privacy else "0",
                    "autoRenew": int(each.auto_renew),
                    "apiAccess": 1,
                    "notLocal": 0,
                }
                for each in rows
            ],
        }

    def _switch_auto_renew(self, given: Given) -> Any:
        name, result = given["domain"], {"status": "SUCCESS", "message": ""}
        try:
            self.held(name).auto_renew = {"on": True, "off": False}[given["status"]]
        except Missing:
            result = {"status": "ERROR", "message": "Invalid domain."}
        return {"results": {name: result}}

    def _list_prices(self, given: Given) -> Any:
        held = {each.domain.partition(".")[2]: f"{each.renewal_price:,.2f}" for each in self.account.domains}
        wanted = given.get("tlds") or held
        prices = {tld: {"registration": "1.00", "renewal": held[tld], "transfer": "1.00"} for tld in held}
        return {"pricing": {tld: price for tld, price in prices.items() if tld in wanted}}

    def _list_transfers(self, _given: Given) -> Any:
        return {
            "transfers": [
                {
                    "domain": each.domain,
                    "status": _STATES[each.state],
                    "statusDescription": "Transfer at the registry.",
                    "transferDate": each.started_at.strftime(_TIME),
                    "orderId": 1,
                }
                for each in self.account.transfers
                if each.direction == "in"
            ]
        }
