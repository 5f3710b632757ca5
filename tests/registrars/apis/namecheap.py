"""A fake of Namecheap's XML API, after www.namecheap.com/support/api."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar
from xml.sax.saxutils import quoteattr

from starlette.responses import Response

from builders.demo.registrars.fake import FakeDomain, FakeRegistrar, FakeTransfer, Fault, Given, Handler, Refused

_STATES = {
    "pending": "Transfer in progress",
    "completed": "COMPLETED",
    "cancelled": "Cancelled by user",
    "failed": "Transfer failed at the registry",
}


class FakeNamecheap(FakeRegistrar):
    """Namecheap: keys in the query, XML, errors with HTTP 200, overload as HTTP 405."""

    credentials: ClassVar = {
        "api_user": "demo",
        "api_key": "nch-demo-key",
        "username": "demo",
        "client_ip": "192.0.2.10",
    }
    page_size = most_asked = 100
    missing = (200, "2019166", "Domain not found")
    members: ClassVar = {"ApiUser": "{api_user}", "ApiKey": "{api_key}"}
    has_holds = False
    failures: ClassVar = {
        Fault.BAD_KEY: (200, "1011102", "API Key is invalid or API access has not been enabled"),
        Fault.RESTRICTED: (200, "1017101", "Parameter ApiUser is disabled or locked"),
        Fault.IP_NOT_ALLOWED: (200, "1011150", "Parameter RequestIP is invalid"),
        Fault.RATE_LIMITED_SILENTLY: (405, "", "<html>Method Not Allowed</html>"),
        Fault.REFUSED: (200, "2011170", "PromotionCode is invalid"),
    }
    nothing = "<CommandResponse></CommandResponse>"

    def routes(self) -> Mapping[str, Handler]:
        """Return the one route; `Command` names the operation."""
        return {"GET /xml.response": self._operate}

    def reply(self, content: Any) -> Response:
        """Return the content of a successful command."""
        return _xml("OK", content)

    def fail(self, status: int, code: str, message: str) -> Response:
        """Return an error with HTTP 200, but for an overload."""
        if not code:
            return Response(message, status_code=status, media_type="text/html")
        return _xml("ERROR", f'<Errors><Error Number="{code}">{message}</Error></Errors>')

    def _operate(self, given: Given) -> Any:
        size, page = self.limit(int(given.get("PageSize", 20))), int(given.get("Page", 1))
        name, command = given.get("SearchTerm", ""), given.get("Command", "").removeprefix("namecheap.")
        if command == "domains.transfer.getList":
            rows = [_transfer(n, each) for n, each in enumerate(self.account.transfers) if name in each.domain]
            return self._result("TransferGetListResult", rows, page, size)
        if command == "domains.getRegistrarLock":
            held = self.held(given["DomainName"])
            lock = _element(
                "DomainGetRegistrarLockResult", Domain=held.domain, RegistrarLockStatus=_flag(held.locked)
            )
            return f"<CommandResponse>{lock}</CommandResponse>"
        if command == "users.getPricing":
            return self._prices(given["ActionName"])
        if command != "domains.getList":
            raise Refused(200, "1010104", "Parameter Command is missing")
        found = [_row(each) for each in self.account.domains if name in each.domain]
        return self._result("DomainGetListResult", found, page, size)

    def _prices(self, action: str) -> str:
        tlds = {each.domain.partition(".")[2]: str(each.renewal_price) for each in self.account.domains}
        years = {tld: {1: price, 2: "99.98"} for tld, price in tlds.items()}
        products = "".join(
            f"<Product Name={quoteattr(tld)}>{''.join(map(_price, prices.items()))}</Product>"
            for tld, prices in years.items()
        )
        category = f"<ProductCategory Name={quoteattr(action.upper())}>{products}</ProductCategory>"
        result = (
            f'<UserGetPricingResult><ProductType Name="DOMAINS">{category}</ProductType></UserGetPricingResult>'
        )
        return f"<CommandResponse>{result}</CommandResponse>"

    def _result(self, name: str, rows: Sequence[str], page: int, size: int) -> str:
        shown = "".join(self.cut(rows, start=(page - 1) * size, size=size))
        paging = (
            f"<TotalItems>{len(rows)}</TotalItems><CurrentPage>{page}</CurrentPage><PageSize>{size}</PageSize>"
        )
        return f"<CommandResponse><{name}>{shown}</{name}><Paging>{paging}</Paging></CommandResponse>"


def _xml(status: str, content: str) -> Response:
    head = '<?xml version="1.0" encoding="utf-8"?>'
    root = f'<ApiResponse Status="{status}" xmlns="http://api.namecheap.com/xml.response">{content}</ApiResponse>'
    return Response(head + root, media_type="text/xml")


def _row(held: FakeDomain) -> str:
    return _element(
        "Domain",
        ID="1",
        Name=held.domain,
        User="demo",
        Created=_date(held.created_at),
        Expires=_date(held.expires_at) if held.expires_at else "",
        IsExpired=_flag(held.state != "active"),
        IsLocked=_flag(held.is_change_locked),
        AutoRenew=_flag(held.auto_renew),
        WhoisGuard="ENABLED" if held.privacy else "NOTPRESENT",
        IsPremium="false",
        IsOurDNS="true",
    )


def _price(each: tuple[int, str]) -> str:
    years, price = each
    return _element(
        "Price",
        Duration=str(years),
        DurationType="YEAR",
        Price="99.99",
        RegularPrice="99.99",
        YourPrice=price,
        Currency="USD",
    )


def _transfer(number: int, transfer: FakeTransfer) -> str:
    return _element(
        "Transfer",
        TransferID=str(number),
        DomainName=transfer.domain,
        TransferDate=_date(transfer.started_at),
        OrderID="1",
        StatusID="1",
        Status=_STATES[transfer.state],
    )


def _element(name: str, **attributes: str) -> str:
    written = " ".join(f"{key}={quoteattr(value)}" for key, value in attributes.items())
    return f"<{name} {written} />"


def _date(time: datetime) -> str:
    return time.strftime("%m/%d/%Y")


def _flag(value: bool) -> str:
    return "true" if value else "false"
