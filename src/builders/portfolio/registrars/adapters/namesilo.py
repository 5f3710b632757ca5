"""NameSilo (https://www.namesilo.com/api-reference): XML, always HTTP 200. The query holds the key.

The list has neither auto-renew nor lock; the details of a domain have both.
"""

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, ClassVar
from xml.etree.ElementTree import Element

from pydantic import BaseModel

from builders.kit.values.money import Money
from builders.portfolio.registrars.adapter import Adapter, ListEnd, Page, Place
from builders.portfolio.registrars.api_client import ApiResponse, read
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.items import Items, read_those
from builders.portfolio.registrars.records import (
    AuthCode,
    AuthCodeDelivery,
    BilledLine,
    Capabilities,
    ChargeKind,
    CredentialField,
    HeldStatus,
    Profile,
    Quota,
    RegistrarDomain,
)
from builders.portfolio.registrars.rows import (
    Amount,
    DomainRow,
    OptionalTime,
    SentenceRow,
    Time,
    TransferRow,
    classify,
    known,
    named,
    read_total,
)
from builders.portfolio.registrars.sources import Topic, client, document

_OK = {"300", "301", "302"}


class _Domain(DomainRow):
    model_config = named(expires_at="expires", created_at="created", privacy="private", status_raw="status")
    states: ClassVar = {  # of github.com/domainmod/domainmod, which lists all
        "expired (restore": HeldStatus.REDEMPTION,
        "expired (pending delete": HeldStatus.PENDING_DELETE,
        "expired": HeldStatus.EXPIRED,
        "inactive": HeldStatus.SUSPENDED,
        "pending outbound transfer": HeldStatus.TRANSFERRING_OUT,
    }


class _Transfer(SentenceRow):
    model_config = named(status_raw="status", started_at="date")
    status_raw: str = ""


class _Purchase(BaseModel):
    order_number: str
    order_date: Time


class _Line(BaseModel):
    description: str | None = None
    years_qty: int | None = None
    subtotal: Amount
    status: str | None = None
    credited_date: OptionalTime = None
    credited_amount: Amount | None = None


class _Price(BaseModel):
    renew: Amount


class NameSilo(Adapter):
    """An account at NameSilo."""

    profile = Profile(
        provider="namesilo",
        label="NameSilo",
        url="https://www.namesilo.com/api",
        sandbox_url="https://sandbox.namesilo.com/api",
        live_domains=("namesilo.com",),
        credential_fields=(CredentialField(name="api_key", label="API key"),),
        capabilities=Capabilities(auto_renew=False, lock=False, auth_code=AuthCodeDelivery.EMAILED),
        quota=Quota(requests=60, window_s=60),
        dashboard_url="https://www.namesilo.com/account_domains.php",
        list_end=(
            "as many rows as `pager/total` of each page "
            "(www.namesilo.com/api-reference#account/list-domains, November 2026)"
        ),
        place="namesilo.com, API Manager",
        requires="can be bound to addresses; a read-only key cannot switch auto-renew",
        sources=(
            document("https://www.namesilo.com/api-reference", "2026-11", Topic.PAGES, Topic.SWITCH),
            client("https://github.com/nrdcg/namesilo (recorded responses)", "2026-11", *Topic),
            client("https://github.com/domainmod/domainmod (namesilo)", "2026-11-25", Topic.STATES),
        ),
        aliases=("namesilocom",),
    )
    ends = ListEnd.TOTAL
    domain_row = _Domain
    failures: ClassVar = {
        **dict.fromkeys(("109", "110", "111", "112", "116"), RegistrarFailure.AUTH_FAILED),
        "113": RegistrarFailure.IP_NOT_ALLOWED,
        # The registry does not respond; an internal error; another request is being processed.
        **dict.fromkeys(("115", "201", "400"), RegistrarFailure.UNAVAILABLE),
        **dict.fromkeys(("200", "266"), RegistrarFailure.NOT_FOUND),  # no such domain; no such transfer
    }
    auth_hint = "Check the key, and that it was created for this environment."
    hints: ClassVar = {
        RegistrarFailure.IP_NOT_ALLOWED: "Allow this service's address for the key in the API manager of NameSilo."
    }
    query: ClassVar = {"version": "1", "type": "xml", "key": "{api_key}"}

    async def read_domains(self, place: Place) -> Page[Any]:
        """Return a page of 1,000 domains; the list ends at the pager's total."""
        query = {"page": place.number, "pageSize": 1000}
        return await self.send("GET", "/listDomains", into=self._page, query=query)

    async def get_domain(self, domain: str) -> RegistrarDomain:
        """Return one domain with auto-renew and lock."""
        reply = await self._call("getDomainInfo", domain=domain)
        names = [each.text or "" for each in reply.iterfind("nameservers/nameserver")]
        return read(_Domain, {**_members(reply), "domain": domain, "nameservers": names or None}).held()

    async def read_prices(self, suffixes: Collection[str]) -> Mapping[str, Money]:
        """Return the prices of one year in US dollars for all suffixes, each of which is an element."""
        del suffixes
        prices = dict[str, Money]()
        for each in await self._call("getPrices"):
            for row in read_those(_Price, [_members(each)]):
                prices[each.tag.lower()] = Money(row.renew, "USD").quantized()
        return prices

    async def list_charges(self, *, since: date, until: date) -> AsyncIterator[Sequence[BilledLine]]:
        """Yield the lines of each order of the period. NameSilo charges in US dollars only."""
        found, items = (await self._call("listOrders")).iterfind("order"), Items(name="order_number")
        for order in await items.rows(_Purchase, [_members(each) for each in found]):
            if since <= order.order_date.date() <= until:
                lines = await items.ask(order.order_number, self._read_lines(order))
                if lines:
                    yield lines
        items.close()

    async def _read_lines(self, order: _Purchase) -> Sequence[BilledLine]:
        number, day = order.order_number, order.order_date.date()
        details = await self._call("orderDetails", order_number=number)
        rows = enumerate(details.iterfind("order_details"), start=1)
        return [line for n, each in rows for line in _lines(each, number, str(n), day)]

    async def get_auth_code(self, domain: str) -> AuthCode:
        """Request that NameSilo emails the code to the administrative contact."""
        await self._call("retrieveAuthCode", domain=domain)
        return AuthCode(delivery=AuthCodeDelivery.EMAILED)

    async def list_transfers(self, domain: str) -> Sequence[TransferRow]:
        """Return the incoming transfer of the domain."""
        return [read(_Transfer, _members(await self._call("checkTransferStatus", domain=domain)))]

    async def set_auto_renew(self, domain: str, *, enabled: bool) -> None:
        """Switch automatic renewal on or off."""
        operation = "addAutoRenewal" if enabled else "removeAutoRenewal"
        await self._call(operation, reads=False, domain=domain)

    async def _call(self, operation: str, *, reads: bool = True, **query: str) -> Element:
        reply: Element = await self.send("GET", f"/{operation}", into=self.content, query=query, reads=reads)
        return reply

    def content(self, response: ApiResponse) -> Any:
        """Return the reply. Raise RegistrarFailed for an error, which has a code."""
        reply = response.xml().find("reply")
        if reply is None:
            raise RegistrarFailed(RegistrarFailure.MALFORMED)
        code = reply.findtext("code") or ""
        if code not in _OK:
            raise self.failure(code, text=reply.findtext("detail"))
        return reply

    def _page(self, response: ApiResponse) -> Page[Any]:
        reply = self.content(response)
        total = read_total(reply.findtext("pager/total"))
        if reply.find("domains") is None and total != 0:
            raise RegistrarFailed(RegistrarFailure.MALFORMED)
        rows = [{"domain": row.text or "", **row.attrib} for row in reply.iterfind("domains/domain")]
        return Page(rows=rows, total=total)


def _members(element: Element) -> Mapping[str, str]:
    """Return the texts of the children but for empty ones."""
    return {child.tag: child.text for child in element if child.text}


def _lines(row: Element, order_id: str, line_id: str, charged_on: date) -> Iterator[BilledLine]:
    """Yield the line, and a negative one for a credited amount."""
    item = read(_Line, _members(row))
    description = item.description or ""
    name = description.partition(" - ")[0].strip()
    line = BilledLine(
        order_id=order_id,
        line_id=line_id,
        charged_on=charged_on,
        description=description,
        domains=(name,) if "." in name else (),
        kind=classify(description),
        total=item.subtotal,
        currency="USD",
        years=item.years_qty or None,
    )
    yield line
    if item.status == "Credited":
        credited_at = known(item.credited_date)
        yield replace(
            line,
            line_id=f"{line_id}-refund",
            charged_on=credited_at.date() if credited_at else charged_on,
            kind=ChargeKind.REFUND,
            total=-(item.subtotal if item.credited_amount is None else item.credited_amount),
            parent_order_id=order_id,
        )
