"""A fake of NameSilo's XML API, after www.namesilo.com/api-reference."""

from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar
from xml.sax.saxutils import escape, quoteattr

from starlette.responses import Response

from builders.demo.registrars.fake import FakeDomain, FakeLine, FakePurchase, FakeRegistrar, Fault, Given, Handler

_STATES = {
    "pending": "Pending at Registry",
    "completed": "Transfer Completed",
    "cancelled": "Cancelled",
    "failed": "Transfer Failed",
}


class FakeNameSilo(FakeRegistrar):
    """NameSilo: the key in the query, XML with a code inside HTTP 200, refunds as credited lines."""

    credentials: ClassVar = {"api_key": "ns-demo-key"}
    path = "/api"
    page_size = 1000
    members: ClassVar = {"key": "{api_key}"}
    missing = (200, "200", "Domain is not active, or does not belong to this user")
    has_holds = False
    failures: ClassVar = {
        Fault.BAD_KEY: (200, "110", "Invalid API Key"),
        Fault.IP_NOT_ALLOWED: (200, "113", "This API account cannot be accessed from your IP"),
        Fault.RATE_LIMITED_SILENTLY: (429, "", "Too Many Requests"),
        Fault.REFUSED: (200, "280", "General error"),
    }
    nothing = ""

    def routes(self) -> Mapping[str, Handler]:
        """Return the operations of the API."""
        return {
            "GET /listDomains": self._list_domains,
            "GET /getDomainInfo": self._get_domain,
            "GET /getPrices": lambda _: "".join(map(_price, self.account.domains[:1])),
            "GET /retrieveAuthCode": lambda given: "" if self.held(given["domain"]) else None,
            "GET /checkTransferStatus": self._get_transfer,
            "GET /addAutoRenewal": partial(self._switch_auto_renew, enabled=True),
            "GET /removeAutoRenewal": partial(self._switch_auto_renew, enabled=False),
            "GET /listOrders": lambda _: "".join(_order(each) for each in self._charged()),
            "GET /orderDetails": self._get_order,
        }

    def reply(self, content: Any) -> Response:
        """Return a code of success with the content."""
        return _reply("300", "success", content)

    def fail(self, status: int, code: str, message: str) -> Response:
        """Return the code of an error with HTTP 200, but for the rate limit."""
        return _reply(code, message) if code else Response(message, status_code=status)

    def _list_domains(self, given: Given) -> Any:
        page, size = int(given["page"]), int(given["pageSize"])
        rows = "".join(_row(each) for each in self.page(page, size))
        pager = f"<total>{len(self.account.domains)}</total><pageSize>{size}</pageSize><page>{page}</page>"
        return f"<pager>{pager}</pager><domains>{rows}</domains>"

    def _get_domain(self, given: Given) -> Any:
        held = self.held(given["domain"])
        names = "".join(f"<nameserver>{each}</nameserver>" for each in held.nameservers)
        expires = held.expires_at.date().isoformat() if held.expires_at else ""
        return (
            f"<created>{held.created_at.date().isoformat()}</created><expires>{expires}</expires>"
            f"<status>Active</status><locked>{_flag(held.locked)}</locked><private>{_flag(held.privacy)}</private>"
            f"<auto_renew>{_flag(held.auto_renew)}</auto_renew><nameservers>{names}</nameservers>"
        )

    def _get_transfer(self, given: Given) -> Any:
        transfer = self.transfer(given["domain"])
        date = transfer.started_at.date().isoformat()
        return f"<date>{date}</date><status>{_STATES[transfer.state]}</status>"

    def _switch_auto_renew(self, given: Given, *, enabled: bool) -> Any:
        self.held(given["domain"]).auto_renew = enabled
        return ""

    def _get_order(self, given: Given) -> Any:
        order = self.order(given["order_number"])
        return "".join(self._line(order, line) for line in order.lines)

    def _charged(self) -> list[FakePurchase]:
        return [each for each in self.account.orders if each.parent_order_id is None]

    def _line(self, order: FakePurchase, line: FakeLine) -> str:
        credited = ""
        for refund in self.account.orders:
            back = refund.lines[0]
            is_of_line = (back.domains, back.operation) == (line.domains, line.operation)
            if refund.parent_order_id == order.order_id and is_of_line:
                credited = (
                    f"<credited_date>{refund.charged_on.isoformat()}</credited_date>"
                    f"<credited_amount>{-back.total}</credited_amount>"
                )
        status = "Credited" if credited else "Processed"
        description = escape(line.text or f"{line.domains[0]} - {line.operation}")
        return (
            f"<order_details><description>{description}</description><years_qty>{line.years}</years_qty>"
            f"<price>{line.total}</price><subtotal>{line.total}</subtotal><status>{status}</status>{credited}"
            "</order_details>"
        )


def _reply(code: str, detail: str, content: str = "") -> Response:
    head = '<?xml version="1.0"?><namesilo><request><operation>any</operation><ip>192.0.2.1</ip></request>'
    reply = f"<reply><code>{code}</code><detail>{escape(detail)}</detail>{content}</reply></namesilo>"
    return Response(head + reply, media_type="text/xml")


def _price(held: FakeDomain) -> str:
    tld = held.domain.partition(".")[2]
    prices = f"<registration>9.99</registration><transfer>8.99</transfer><renew>{held.renewal_price}</renew>"
    return f"<{tld}>{prices}</{tld}><net><renew>12.79</renew></net>"


def _row(held: FakeDomain) -> str:
    expires = held.expires_at.date().isoformat() if held.expires_at else ""
    created = held.created_at.date().isoformat()
    return f"<domain created={quoteattr(created)} expires={quoteattr(expires)}>{escape(held.domain)}</domain>"


def _order(order: FakePurchase) -> str:
    total = sum((line.total for line in order.lines), Decimal(0))
    return (
        f"<order><order_number>{order.order_id}</order_number>"
        f"<order_date>{order.charged_on.isoformat()} 10:00:00</order_date>"
        f"<method>Account Funds</method><total>{total}</total></order>"
    )


def _flag(value: bool) -> str:
    return "Yes" if value else "No"
