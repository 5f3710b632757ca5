"""A fake of INWX's JSON-RPC API (DomRobot)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from builders.demo.registrars.fake import FakeDomain, FakeRegistrar, Fault, Given, Handler

_STATUSES = {"active": "OK", "expired": "EXPIRED", "redemption": "DELETE INITIATED"}
_COOKIE = "domrobot=demo-session"


class FakeInwx(FakeRegistrar):
    """INWX: a session by a cookie, one path for all methods, codes like those of EPP inside HTTP 200."""

    signs_in = True
    credentials: ClassVar = {"username": "inwx-demo", "password": "inwx-demo-password"}
    page_size = 250
    currency = "EUR"
    missing = (200, "2303", "Object does not exist")
    has_holds = False
    failures: ClassVar = {
        Fault.BAD_KEY: (200, "2200", "Authentication error"),
        Fault.RATE_LIMITED_SILENTLY: (429, "", "Too many requests"),
        Fault.REFUSED: (200, "2005", "Parameter value syntax error"),
    }

    def routes(self) -> Mapping[str, Handler]:
        """Return the one path of the API."""
        return {"POST /jsonrpc/": self._call}

    def is_allowed(self, request: Request, given: Given, body: bytes) -> bool:
        """Return whether the session is that of a login, or the login names the customer."""
        del body
        if given["method"] != "account.login":
            return request.headers.get("Cookie") == _COOKIE
        pair = (given["params"]["user"], given["params"]["pass"])
        return pair == (self.credentials["username"], self.credentials["password"])

    def reply(self, content: Any) -> Response:
        """Return a code of success with the content."""
        return JSONResponse({"code": 1000, "msg": "Command completed successfully", "resData": content})

    def fail(self, status: int, code: str, message: str) -> Response:
        """Return the code of an error with HTTP 200, but for the rate limit."""
        return JSONResponse({"code": int(code), "msg": message}) if code else Response(message, status_code=status)

    def _call(self, given: Given) -> Any:
        methods: Mapping[str, Handler] = {
            "account.login": self._log_in,
            "domain.list": self._list_domains,
            "domain.info": lambda params: _row(self.held(params["domain"])),
            "domain.update": self._update,
            "domain.getPrices": self._list_prices,
        }
        return methods[given["method"]](given["params"])

    def _log_in(self, _params: Given) -> Response:
        response = self.reply({"customerId": 1, "customerNo": 1, "accountId": 1, "tfa": "0"})
        response.headers["Set-Cookie"] = f"{_COOKIE}; path=/; secure; HttpOnly"
        return response

    def _list_domains(self, params: Given) -> Any:
        wanted = params.get("domain", "*")
        domains = [each for each in self.account.domains if wanted in {"*", each.domain}]
        size, number = self.limit(params.get("pagelimit", 20)), params.get("page", 1)
        rows = self.cut(domains, start=(number - 1) * size, size=size)
        return {"count": len(domains), "domain": [_row(each) for each in rows]}

    def _update(self, params: Given) -> Any:
        self.held(params["domain"]).auto_renew = params["renewalMode"] == "AUTORENEW"
        return {}

    def _list_prices(self, params: Given) -> Any:
        held = {each.domain.partition(".")[2]: each.renewal_price for each in self.account.domains}
        prices = {tld: price for tld, price in held.items() if tld in params["tld"]}
        tax = 1 if params["vat"] else 0
        return {
            "price": [
                {"tld": tld, "currency": self.currency, "renewalPrice": float(price) + tax, "renewalPeriod": 1}
                for tld, price in prices.items()
            ]
        }


def _row(held: FakeDomain) -> dict[str, Any]:
    until = {} if held.expires_at is None else {"exDate": held.expires_at.strftime("%Y-%m-%d %H:%M:%S")}
    return {
        "roId": 1,
        "domain": held.domain,
        "domain-ace": held.domain,
        "period": "1Y",
        "crDate": held.created_at.strftime("%Y-%m-%d %H:%M:%S"),
        **until,
        "transferLock": int(held.locked),
        "status": _STATUSES[held.state],
        "authCode": held.auth_code,
        "renewalMode": "AUTORENEW" if held.auto_renew else "AUTOEXPIRE",
        "ns": list(held.nameservers),
    }
