"""NameSilo (https://www.namesilo.com/api-reference): XML, always HTTP 200. The query holds the key.

The list has neither auto-renew nor lock; the details of a domain have both.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from datetime import date
from xml.etree.ElementTree import Element

from pydantic import TypeAdapter

from builders.portfolio.registrars.adapter import (
    Adapter,
    Amount,
    Total,
    a_label,
    classify,
    convert,
    read_flag,
    read_number,
    read_time,
    read_total,
)
from builders.portfolio.registrars.api_client import ApiResponse, read
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import (
    AuthCode,
    AuthCodeDelivery,
    BilledLine,
    Capabilities,
    ChargeKind,
    CredentialField,
    Environment,
    HeldDomain,
    HeldStatus,
    HeldTransfer,
    Profile,
    Quota,
    TransferDirection,
    TransferState,
)

_PER_PAGE = 1000
_OK = {"300", "301", "302"}
_KEY_REFUSED = {"109", "110", "112"}
_IP_REFUSED = {"113"}
_NOT_FOUND = {"200"}
_STATE_WORDS = (
    ("cancel", TransferState.CANCELLED),
    ("complete", TransferState.COMPLETED),
    ("fail", TransferState.FAILED),
    ("reject", TransferState.FAILED),
    ("awaiting", TransferState.ACTION_REQUIRED),
)
_AMOUNT = TypeAdapter(Amount)
_HINT = "Check the key, and that it was created for this environment."


class NameSilo(Adapter):
    """An account at NameSilo."""

    profile = Profile(
        provider="namesilo",
        label="NameSilo",
        base_urls={
            Environment.LIVE: "https://www.namesilo.com/api",
            Environment.SANDBOX: "https://sandbox.namesilo.com/api",
        },
        live_domains=("namesilo.com",),
        credential_fields=(CredentialField(name="api_key", label="API key"),),
        capabilities=Capabilities(
            auto_renew=False,
            lock=False,
            set_auto_renew=True,
            billing=True,
            auth_code=AuthCodeDelivery.EMAILED,
            transfer_status=True,
            sandbox=True,
        ),
        quota=Quota(requests=60, window_s=60),
        dashboard_url="https://www.namesilo.com/account_domains.php",
        list_end=(
            "as many rows as `pager/total` of each page "
            "(www.namesilo.com/api-reference#account/list-domains, November 2026)"
        ),
    )

    async def list_domains(self) -> AsyncIterator[Sequence[HeldDomain]]:
        """Yield pages until the pager's total is reached."""
        page, total, is_end = 1, Total(), False
        while not is_end:
            reply = await self._call("listDomains", page=page, pageSize=_PER_PAGE)
            rows, named = reply.findall("domains/domain"), read_total(reply.findtext("pager/total"))
            if reply.find("domains") is None and named != 0:
                raise RegistrarFailed(RegistrarFailure.MALFORMED)
            yield await convert(rows, _held)
            is_end = total.add(len(rows), named)
            page += 1
        total.require()

    async def get_domain(self, domain: str) -> HeldDomain:
        """Return one domain with auto-renew and lock."""
        reply = await self._call("getDomainInfo", domain=domain)
        names = [each.text or "" for each in reply.iterfind("nameservers/nameserver")]
        return HeldDomain(
            domain=domain,
            expires_at=read_time(reply.findtext("expires")),
            created_at=read_time(reply.findtext("created")),
            auto_renew=read_flag(reply.findtext("auto_renew")),
            locked=read_flag(reply.findtext("locked")),
            privacy=read_flag(reply.findtext("private")),
            status=HeldStatus.ACTIVE if reply.findtext("status") == "Active" else HeldStatus.UNKNOWN,
            status_raw=reply.findtext("status"),
            nameservers=names or None,
        )

    async def list_charges(self, *, since: date, until: date) -> AsyncIterator[Sequence[BilledLine]]:
        """Yield the lines of each order of the period. NameSilo charges in US dollars only."""
        orders = await self._call("listOrders")
        for order in orders.iterfind("order"):
            charged_at = read_time(order.findtext("order_date"))
            number = order.findtext("order_number") or ""
            if charged_at is None or not since <= charged_at.date() <= until:
                continue
            details = await self._call("orderDetails", order_number=number)
            rows = enumerate(details.iterfind("order_details"), start=1)
            lines = [
                line
                for n, each in rows
                for line in _lines(each, order_id=number, line_id=str(n), on=charged_at.date())
            ]
            if lines:
                yield lines

    async def get_auth_code(self, domain: str) -> AuthCode:
        """Request that NameSilo emails the code to the administrative contact."""
        await self._call("retrieveAuthCode", domain=domain)
        return AuthCode(delivery=AuthCodeDelivery.EMAILED)

    async def find_transfer(self, domain: str) -> HeldTransfer | None:
        """Return the incoming transfer of the domain; the status is free text."""
        try:
            reply = await self._call("checkTransferStatus", domain=domain)
        except RegistrarFailed as failed:
            if failed.kind is RegistrarFailure.NOT_FOUND:
                return None
            raise
        status = reply.findtext("status") or ""
        return HeldTransfer(
            direction=TransferDirection.IN,
            state=next((state for word, state in _STATE_WORDS if word in status.lower()), TransferState.PENDING),
            status_raw=status,
            started_at=read_time(reply.findtext("date")),
            message=reply.findtext("message"),
        )

    async def set_auto_renew(self, domain: str, *, enabled: bool) -> None:
        """Switch automatic renewal on or off."""
        operation = "addAutoRenewal" if enabled else "removeAutoRenewal"
        await self._call(operation, is_read=False, domain=domain)

    async def _call(self, operation: str, *, is_read: bool = True, **query: str | int) -> Element:
        named: dict[str, str | int] = {"version": 1, "type": "xml", "key": self._credentials["api_key"]}
        return await self._api.get(f"/{operation}", into=_read, query={**named, **query}, reads=is_read)


def _read(response: ApiResponse) -> Element:
    reply = response.xml().find("reply")
    if reply is None:
        raise RegistrarFailed(RegistrarFailure.MALFORMED)
    code = reply.findtext("code") or ""
    if code in _OK:
        return reply
    if code in _KEY_REFUSED:
        raise RegistrarFailed(RegistrarFailure.AUTH_FAILED, code=code, hint=_HINT)
    if code in _IP_REFUSED:
        hint = "Allow this service's address for the key in the API manager of NameSilo."
        raise RegistrarFailed(RegistrarFailure.IP_NOT_ALLOWED, code=code, hint=hint)
    if code in _NOT_FOUND:
        raise RegistrarFailed(RegistrarFailure.NOT_FOUND, code=code)
    raise RegistrarFailed(RegistrarFailure.REFUSED, code=code)


def _held(row: Element) -> HeldDomain:
    return HeldDomain(
        domain=a_label(row.text or ""),
        expires_at=read_time(row.get("expires")),
        created_at=read_time(row.get("created")),
    )


def _lines(row: Element, *, order_id: str, line_id: str, on: date) -> Iterator[BilledLine]:
    """Yield the line, and a negative one for a credited amount."""
    description = row.findtext("description") or ""
    name = description.partition(" - ")[0].strip()
    line = BilledLine(
        order_id=order_id,
        line_id=line_id,
        charged_on=on,
        description=description,
        domains=(name,) if "." in name else (),
        kind=classify(description),
        total=read(_AMOUNT, row.findtext("subtotal")),
        currency="USD",
        years=read_number(row.findtext("years_qty")) or None,
    )
    yield line
    if row.findtext("status") == "Credited":
        credited_at = read_time(row.findtext("credited_date"))
        yield replace(
            line,
            line_id=f"{line_id}-refund",
            charged_on=credited_at.date() if credited_at else on,
            kind=ChargeKind.REFUND,
            total=-read(_AMOUNT, row.findtext("credited_amount") or row.findtext("subtotal")),
            parent_order_id=order_id,
        )
