"""A fake of NameSilo's XML API."""

from collections.abc import Sequence
from decimal import Decimal
from typing import ClassVar
from xml.sax.saxutils import escape, quoteattr

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from builders.demo.registrars.fake import FakeDomain, FakeLine, FakePurchase, FakeRegistrar, Fault

_ERRORS = {
    Fault.BAD_KEY: ("110", "Invalid API Key"),
    Fault.IP_NOT_ALLOWED: ("113", "This API account cannot be accessed from your IP"),
    Fault.REFUSED: ("280", "General error"),
}
_STATES = {
    "pending": "Pending at Registry",
    "completed": "Transfer Completed",
    "cancelled": "Cancelled",
    "failed": "Transfer Failed",
}


class FakeNameSilo(FakeRegistrar):
    """NameSilo: the key in the query, XML with a code inside HTTP 200, refunds as credited lines."""

    provider = "namesilo"
    credentials: ClassVar = {"api_key": "ns-demo-key"}
    path = "/api"
    page_size = 1000
    faults = frozenset(Fault) - {Fault.RESTRICTED, Fault.RATE_LIMITED}

    def routes(self) -> Sequence[Route]:
        """Return a route for each operation."""
        operations = {
            "listDomains": self._list_domains,
            "getDomainInfo": self._get_domain,
            "retrieveAuthCode": self._email_auth_code,
            "checkTransferStatus": self._get_transfer,
            "addAutoRenewal": self._switch_auto_renew,
            "removeAutoRenewal": self._switch_auto_renew,
            "listOrders": self._list_orders,
            "orderDetails": self._get_order,
        }
        return [Route(f"{self.path}/{name}", operation) for name, operation in operations.items()]

    async def is_allowed(self, request: Request) -> bool:
        """Return whether the key in the query is the customer's."""
        return request.query_params.get("key") == self.credentials["api_key"]

    def refuse(self, fault: Fault) -> Response:
        """Return an error as NameSilo writes it."""
        if fault is Fault.RATE_LIMITED_SILENTLY:
            return Response("Too Many Requests", status_code=429)
        return _reply(*_ERRORS[fault])

    def respond_without_content(self) -> Response:
        """Return a code alone."""
        return _reply("300", "success")

    async def _list_domains(self, request: Request) -> Response:
        size, page = self.limit(int(request.query_params["pageSize"])), int(request.query_params["page"])
        shown = self.cut(self.account.domains, start=(page - 1) * size, size=size)
        rows = "".join(_row(each) for each in shown)
        pager = f"<total>{len(self.account.domains)}</total><pageSize>{size}</pageSize><page>{page}</page>"
        return _reply("300", "success", f"<pager>{pager}</pager><domains>{rows}</domains>")

    async def _get_domain(self, request: Request) -> Response:
        held = self.find(request.query_params["domain"])
        if held is None:
            return _not_found()
        names = "".join(f"<nameserver>{each}</nameserver>" for each in held.nameservers)
        expires = held.expires_at.date().isoformat() if held.expires_at else ""
        return _reply(
            "300",
            "success",
            f"<created>{held.created_at.date().isoformat()}</created><expires>{expires}</expires>"
            f"<status>Active</status><locked>{_flag(held.locked)}</locked><private>{_flag(held.privacy)}</private>"
            f"<auto_renew>{_flag(held.auto_renew)}</auto_renew><nameservers>{names}</nameservers>",
        )

    async def _email_auth_code(self, request: Request) -> Response:
        held = self.find(request.query_params["domain"])
        return _not_found() if held is None else _reply("300", "success")

    async def _get_transfer(self, request: Request) -> Response:
        for each in self.account.transfers:
            if each.domain == request.query_params["domain"]:
                date = each.started_at.date().isoformat()
                return _reply("300", "success", f"<date>{date}</date><status>{_STATES[each.state]}</status>")
        return _not_found()

    async def _switch_auto_renew(self, request: Request) -> Response:
        held = self.find(request.query_params["domain"])
        if held is None:
            return _not_found()
        held.auto_renew = request.url.path.endswith("addAutoRenewal")
        return _reply("300", "success")

    async def _list_orders(self, _request: Request) -> Response:
        return _reply("300", "success", "".join(_order(each) for each in self._charged()))

    async def _get_order(self, request: Request) -> Response:
        for each in self._charged():
            if each.order_id == request.query_params["order_number"]:
                return _reply("300", "success", "".join(self._line(each, line) for line in each.lines))
        return _not_found()

    def _charged(self) -> list[FakePurchase]:
        return [each for each in self.account.orders if each.parent_order_id is None]

    def _line(self, order: FakePurchase, line: FakeLine) -> str:
        credited = ""
        for refund in self.account.orders:
            if refund.parent_order_id == order.order_id and _is_of(refund.lines[0], line):
                credited = (
                    f"<credited_date>{refund.charged_on.isoformat()}</credited_date>"
                    f"<credited_amount>{-refund.lines[0].total}</credited_amount>"
                )
        status = "Credited" if credited else "Processed"
        description = escape(line.text or f"{line.domains[0]} - {line.operation}")
        return (
            f"<order_details><description>{description}</description><years_qty>{line.years}</years_qty>"
            f"<price>{line.total}</price><subtotal>{line.total}</subtotal><status>{status}</status>{credited}"
            "</order_details>"
        )


def _is_of(refund: FakeLine, line: FakeLine) -> bool:
    return (refund.domains, refund.operation) == (line.domains, line.operation)


def _not_found() -> Response:
    return _reply("200", "Domain is not active, or does not belong to this user")


def _reply(code: str, detail: str, content: str = "") -> Response:
    head = '<?xml version="1.0"?><namesilo><request><operation>any</operation><ip>192.0.2.1</ip></request>'
    reply = f"<reply><code>{code}</code><detail>{escape(detail)}</detail>{content}</reply></namesilo>"
    return Response(head + reply, media_type="text/xml")


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
