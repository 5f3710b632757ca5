"""Dynadot (https://www.dynadot.com/domain/api-document): REST 2.0.0, in beta, with signed requests."""

import hmac
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from http import HTTPStatus
from typing import Annotated, Any, ClassVar

from pydantic import AliasChoices, AliasPath, BaseModel, BeforeValidator, Field

from builders.kit.values.money import Money
from builders.portfolio.registrars.adapter import Adapter, Headers, ListEnd, Page, Place, bounded, list_pages
from builders.portfolio.registrars.api_client import ApiResponse, read
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.items import Items, read_those
from builders.portfolio.registrars.records import (
    BilledLine,
    CredentialField,
    HeldStatus,
    Profile,
    Quota,
    RegistrarDomain,
    TransferState,
)
from builders.portfolio.registrars.rows import (
    Amount,
    BillTime,
    DomainRow,
    Flag,
    Rows,
    TransferRow,
    classify,
    named,
    time_by,
)
from builders.portfolio.registrars.sources import Topic, client, document

_DOMAINS = "/restful/v2/domains"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PRIVACY = {"full privacy": True, "partial privacy": True, "privacy off": False}
# "reset" is "no renew option": the default of the account decides, and the API does not show it.
_RENEWS = {"auto": True, "auto-renew": True, "donot": False, "do not renew": False}
_in_millis = time_by(lambda text: _EPOCH + timedelta(milliseconds=int(text)))
_Millis = Annotated[datetime | None, _in_millis]
# An amount with a sign of its currency, or without.
_Cost = Annotated[Amount, BeforeValidator(lambda text: re.sub(r"[^\w.+-]", "", str(text)))]


class _Domain(DomainRow):
    model_config = named(
        domain="domain_name",
        expires_at="expiration_date",
        created_at="registration_date",
        privacy_option="privacy",
        status_raw="status",
        on_hold="hold",
        servers=AliasPath("glue_info", "nameserver_list"),
    )
    states: ClassVar = {  # the list of all names has those that the account lost; a word in parentheses says how
        "expired": HeldStatus.EXPIRED,
        **dict.fromkeys(("deleted", "moved", "transferaway", "tag released", "remote out"), HeldStatus.GONE),
    }
    expires_at: _Millis = None
    created_at: _Millis = None
    privacy_option: str | None = None
    renew_option: str | None = None
    servers: tuple[dict[str, Any], ...] | None = None

    def held(self) -> RegistrarDomain:
        """Read the options, which are words."""
        return replace(
            super().held(),
            auto_renew=_RENEWS.get((self.renew_option or "").lower()),
            privacy=_PRIVACY.get((self.privacy_option or "").lower()),
            nameservers=None if self.servers is None else [str(each.get("server_name")) for each in self.servers],
        )


class _Paged(BaseModel):
    total: int | None = Field(default=None, validation_alias=AliasPath("pagination_result", "total"))
    has_more: Flag = Field(default=None, validation_alias=AliasPath("pagination_result", "has_next_page"))


class _Domains(_Paged):
    domain_info_list: tuple[Any, ...]


class _Info(BaseModel):
    domain_info: _Domain


class _Price(BaseModel):
    tld: str
    all_years_renew_price: tuple[str, ...] = ()  # "--": none


class _Prices(_Paged):
    currency: str = "USD"
    tld_price_list: tuple[Any, ...]


class _Transfer(TransferRow):
    model_config = named(
        status_raw="transfer_status",
        started_at="order_created_date",
        completed_at="order_completed_date",
        message="failed_reason",
    )
    states: ClassVar = {
        **dict.fromkeys(("approved", "none", "waiting"), TransferState.PENDING),
        "transferred": TransferState.COMPLETED,
    }
    started_at: _Millis = None
    completed_at: _Millis = None


class _Transfers(BaseModel):
    domain_transfer_status_list: Rows[_Transfer] = ()


class _Item(BaseModel):
    type: str = ""
    name: str = ""
    duration: int | None = None
    cost: _Cost
    status: str = ""


class _Purchase(BaseModel):
    order_id: int
    submitted_at: Annotated[BillTime, _in_millis] = Field(
        validation_alias=AliasChoices("submitted_date", "submitted_time")
    )
    currency: str = "USD"
    items: Rows[_Item] = Field(validation_alias=AliasChoices("order_item_list", "order_item"))


class _Purchases(BaseModel):
    order_list: tuple[Any, ...] = ()


class _Error(BaseModel):
    code: int | str | None = None
    description: str | None = None


class _Envelope(BaseModel):
    code: int = HTTPStatus.OK
    data: Any = None
    error: _Error | None = None


class Dynadot(Adapter):
    """An account at Dynadot."""

    profile = Profile(
        provider="dynadot",
        label="Dynadot",
        url="https://api.dynadot.com",
        sandbox_url="https://api-sandbox.dynadot.com",
        live_domains=("dynadot.com",),
        credential_fields=(
            CredentialField(name="api_key", label="API key"),
            CredentialField(name="api_secret", label="API secret"),
        ),
        quota=Quota(requests=60, window_s=60),
        dashboard_url="https://www.dynadot.com/account/domain/name/list.html",
        list_end=(
            "`pagination_result` without a next page, and as many rows as its `total`; without it, a page out of "
            "range (www.dynadot.com/domain/api-document, domain_list, November 2026)"
        ),
        place="dynadot.com, Tools, API",
        requires="can be bound to addresses",
        sources=(
            document(
                "https://www.dynadot.com/domain/api-document?api-version=2.0.0",
                "2026-11-22",
                *(set(Topic) - {Topic.AUTO_RENEW, Topic.TRANSFERS}),
            ),
            document("https://blog.csdn.net/Dynadot_tech/article/details/136902070", "2026-11-22", Topic.SWITCH),
            client("https://github.com/brack3t/dynadotpy (renew_option)", "2026-11-22", Topic.AUTO_RENEW),
            client("https://github.com/pragmaticonline/blognice (sandbox, 2026-08-22)", "2026-11-22", Topic.PAGES),
            client("https://github.com/SrBalbucio/dynadot4j", "2026-11-22", Topic.BILLS, Topic.TRANSFERS),
        ),
    )
    ends = ListEnd.CURSOR
    domain_row = _Domain
    code_path = f"{_DOMAINS}/{{domain}}/transfer_auth_code"
    failures: ClassVar = {
        "429": RegistrarFailure.RATE_LIMITED,
        **dict.fromkeys(("500", "502", "503"), RegistrarFailure.UNAVAILABLE),
    }
    auth_hint = "Check key and secret, and that this service's address is allowed in Dynadot's API settings."

    async def read_domains(self, place: Place) -> Page[Any]:
        """Return a page of at most 100 of all domains; without `status`, Dynadot lists the active ones."""
        try:
            page = await self.call(_Domains, _DOMAINS, page=place.number, page_size=100, status="all")
        except RegistrarFailed as failed:
            if place.number == 1 or "out of range" not in (failed.hint or ""):
                raise
            return Page(rows=())
        more = bool(page.domain_info_list) if page.has_more is None else page.has_more
        return Page(rows=page.domain_info_list, cursor=place.number + 1 if more else None, total=page.total)

    async def get_domain(self, domain: str) -> RegistrarDomain:
        """Return one domain."""
        return (await self.call(_Info, f"{_DOMAINS}/{domain}")).domain_info.held()

    async def read_prices(self, suffixes: Collection[str]) -> Mapping[str, Money]:
        """Return the prices of the account for these suffixes."""
        tlds = ",".join(sorted(suffixes))

        async def read_page(place: Place) -> Page[tuple[str, Money]]:
            path, number = f"{_DOMAINS}/get_tld_price", place.number
            found = await self.call(_Prices, path, currency="USD", tlds=tlds, page=number, page_size=100)
            return Page(rows=[*_prices(found)], cursor=place.number + 1 if found.has_more else None)

        return dict([each async for rows in bounded(list_pages(read_page)) for each in rows])

    async def list_charges(self, *, since: date, until: date) -> AsyncIterator[Sequence[BilledLine]]:
        """Yield the completed items of the orders of the period; the history shows no refunds."""
        days = (datetime.combine(day, time(), UTC) for day in (since, until + timedelta(days=1)))
        start, end = (int(day.timestamp() * 1000) for day in days)
        path, kind = "/restful/v2/orders", "date_range"
        found = await self.call(_Purchases, path, search_type=kind, start_time=start, end_time=end)
        items = Items(name="order_id")
        for order in await items.rows(_Purchase, found.order_list):
            if since <= order.submitted_at.date() <= until:
                yield [*_lines(order)]
        items.close()

    async def list_transfers(self, domain: str) -> Sequence[TransferRow]:
        """Return the transfers of the domain in both directions."""
        found = list[TransferRow]()
        for kind, is_out in (("transfer_in", False), ("transfer_away", True)):
            try:
                rows = await self.call(_Transfers, f"{_DOMAINS}/{domain}/transfer_status", transfer_type=kind)
            except RegistrarFailed as failed:
                if failed.kind is not RegistrarFailure.NOT_FOUND:
                    raise
                continue
            found += [row.model_copy(update={"is_out": is_out}) for row in rows.domain_transfer_status_list]
        return found

    async def set_auto_renew(self, domain: str, *, enabled: bool) -> None:
        """Switch automatic renewal on or off, whatever the default of the account is."""
        path, body = f"{_DOMAINS}/{domain}/renew_option", {"renew_option": "auto" if enabled else "donot"}
        await self.send("PUT", path, into=self.content, json=body, reads=False)

    def sign(self, method: str, target: str, *, headers: Headers, body: bytes | None) -> Headers:
        """Sign key, path, no identifier of the request, and body by the secret."""
        del method
        key, secret = self._credentials["api_key"], self._credentials["api_secret"]
        text = b"\n".join((key.encode(), target.encode(), b"", body or b""))
        return {
            **headers,
            "Authorization": f"Bearer {key}",
            "Accept": "application/json",
            "Content-Type": "application/json",
            "X-Signature": b64encode(hmac.digest(secret.encode(), text, "sha256")).decode(),
        }

    def content(self, response: ApiResponse) -> Any:
        """Return `data`. Raise RegistrarFailed for an error, which can come with HTTP 200."""
        envelope = read(_Envelope, response.json())
        status, error = max(response.status, envelope.code), envelope.error
        if error is None and status < HTTPStatus.BAD_REQUEST:
            return envelope.data
        code = str(status) if error is None or error.code is None else str(error.code)
        raise self.failure(code, status=status, text=error.description if error else None)


def _prices(found: _Prices) -> Iterator[tuple[str, Money]]:
    """Yield the price of one year for each suffix that has one."""
    for each in read_those(_Price, found.tld_price_list):
        amount = next(iter(each.all_years_renew_price), "")
        if re.fullmatch(r"\d{1,12}(\.\d{1,4})?", amount):
            yield each.tld.lstrip("."), Money(Decimal(amount), found.currency.upper()).quantized()


def _lines(order: _Purchase) -> Iterator[BilledLine]:
    for number, item in enumerate(order.items, start=1):
        if item.status.lower().startswith("complete"):
            yield BilledLine(
                order_id=str(order.order_id),
                line_id=str(number),
                charged_on=order.submitted_at.date(),
                description=f"{item.type} {item.name}".strip(),
                domains=(item.name,) if "." in item.name else (),
                kind=classify(item.type),
                total=item.cost,
                currency=order.currency,
                years=item.duration,
            )
