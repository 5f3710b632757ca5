"""The interface of all registrar adapters, and what they share: requests, errors, pages and prices.

An adapter adds its profile, its paths, the names of its members, and what is peculiar to its registrar.
"""

from abc import ABC
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from enum import Enum, auto
from http import HTTPStatus
from typing import Any, ClassVar, Generic, TypeVar
from urllib.parse import urlencode

from pydantic_core import to_json

from builders.kit.http import slices
from builders.kit.values import texts
from builders.kit.values.money import Money
from builders.portfolio.registrars.api_client import LIMIT_WORDS, ApiClient, ApiResponse, Model, T, read
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.items import Items
from builders.portfolio.registrars.records import (
    AuthCode,
    AuthCodeDelivery,
    BilledLine,
    Environment,
    HeldTransfer,
    Profile,
    RegistrarDomain,
)
from builders.portfolio.registrars.rows import CodeRow, DomainRow, TransferRow

Row_co = TypeVar("Row_co", covariant=True)
Headers = Mapping[str, str]
MAX_ROWS, MAX_PAGES = 1_000_000, 100_000  # of a list
MAX_EMPTY_PAGES = 3  # in a row
MAX_TEXT = 300  # characters of a registrar's own text
MIN_SECRET = 4  # characters of a credential that such a text must not show
_FIRST_TIME = datetime.min.replace(tzinfo=UTC)
# What each registrar's code says is in `failures` of its adapter; these decide on a code that is not there.
_KINDS_OF_WORDS: Mapping[str, RegistrarFailure] = {
    **dict.fromkeys(LIMIT_WORDS, RegistrarFailure.RATE_LIMITED),
    **dict.fromkeys(("invalid api key", "api key is invalid"), RegistrarFailure.AUTH_FAILED),
}
_KINDS_OF_STATUSES: Mapping[int, RegistrarFailure] = {
    HTTPStatus.UNAUTHORIZED: RegistrarFailure.AUTH_FAILED,
    HTTPStatus.FORBIDDEN: RegistrarFailure.AUTH_FAILED,
    HTTPStatus.NOT_FOUND: RegistrarFailure.NOT_FOUND,
}


class ListEnd(Enum):
    """What ends a list; a short page does not, because a registrar may limit its pages."""

    CURSOR = auto()  # a page that names no cursor of a next page
    EMPTY = auto()  # an empty page
    TOTAL = auto()  # as many rows as each page names as total


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place of a page in its list."""

    number: int = 1
    start: int = 0  # the rows before it
    cursor: str | int | None = None  # as the page before it names it


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Row_co]):
    """A page of a list."""

    rows: Sequence[Row_co]
    cursor: str | int | None = None  # of the next page
    total: int | None = None  # rows of the list, as this page says
    is_cut: bool = False  # it has another number of rows than it says


class Adapter(ABC):
    """The account of a customer at one registrar. Every public method raises RegistrarFailed.

    Paths have the place {domain}; paths, headers, queries and hints may name a credential in braces.
    """

    profile: ClassVar[Profile]
    ends: ClassVar[ListEnd]  # of the list of domains
    domain_row: ClassVar[type[DomainRow]]
    domain_path: ClassVar[str | None] = None  # of one domain; None: the list has it
    code_path: ClassVar[str | None] = None  # of the authorization code
    transfer_row: ClassVar[type[TransferRow]]
    transfer_path: ClassVar[str | None] = None  # of the one transfer of a domain
    headers: ClassVar[Mapping[str, str]] = {}  # of every request
    query: ClassVar[Mapping[str, str]] = {}  # of every request
    failures: ClassVar[Mapping[str, RegistrarFailure]] = {}  # by the registrar's own code of an error
    words: ClassVar[Mapping[str, RegistrarFailure]] = {}  # by a part of its text in lower case, without a code
    code_member: ClassVar[str | None] = None  # of an error in JSON: the registrar's own code; None: the status
    error_member: ClassVar[str] = "message"  # of an error in JSON: the registrar's own text
    limits: ClassVar[Collection[int]] = (HTTPStatus.TOO_MANY_REQUESTS,)  # the statuses of a rate limit
    auth_hint: ClassVar[str]  # the remedy for refused credentials
    hints: ClassVar[Mapping[RegistrarFailure, str]] = {}  # the remedies for other failures

    def __init_subclass__(cls) -> None:
        """Add to the profile the capabilities that the class implements."""
        super().__init_subclass__()
        declared = cls.profile.capabilities
        has_code = cls.code_path is not None or cls.get_auth_code is not Adapter.get_auth_code
        delivery = AuthCodeDelivery.RETURNED if has_code else AuthCodeDelivery.DASHBOARD
        is_declared = declared.auth_code is not AuthCodeDelivery.UNSUPPORTED
        capabilities = replace(
            declared,
            set_auto_renew=cls.set_auto_renew is not Adapter.set_auto_renew,
            prices=declared.prices or cls.read_prices is not Adapter.read_prices,
            billing=cls.list_charges is not Adapter.list_charges,
            auth_code=declared.auth_code if is_declared else delivery,
            transfer_status=cls.transfer_path is not None or cls.list_transfers is not Adapter.list_transfers,
            sandbox=cls.profile.sandbox_url is not None,
        )
        cls.profile = replace(cls.profile, capabilities=capabilities)

    def __init__(self, api: ApiClient, *, credentials: Mapping[str, str]) -> None:
        self._api = api
        self._credentials = credentials
        self._headers = {name: text.format_map(credentials) for name, text in self.headers.items()}
        self._query = {name: text.format_map(credentials) for name, text in self.query.items()}

    def __repr__(self) -> str:
        """Leave out the credentials."""
        return f"{type(self).__name__}({self._api.base_url!r})"

    @classmethod
    def base_url_of(cls, environment: Environment, *, credentials: Mapping[str, str]) -> str:
        """Return the base URL of the registrar's API."""
        del credentials
        return cls.profile.base_urls[environment]

    @classmethod
    def reads_one_domain(cls) -> bool:
        """Return whether `get_domain` queries one domain instead of listing all."""
        return cls.domain_path is not None or cls.get_domain is not Adapter.get_domain

    async def list_domains(self) -> AsyncIterator[Sequence[RegistrarDomain]]:
        """Yield the domains of the account, page by page; an empty page is one that the registrar returned.

        The iterator ends only where the registrar said that the list ends (`ends`). Raise
        RegistrarFailed with INCOMPLETE after the last page when it did not, when its total differs, or when rows
        could not be read.
        """
        asked, prices, items = set[str](), dict[str, Money](), Items()
        async for values in list_pages(self.read_domains, end=self.ends, items=items):
            rows = await items.rows(self.domain_row, values)
            held = await slices.collect((row.held(), row.is_premium) for row in rows)
            if new := {_suffix(each.domain) for each, _ in held} - asked:
                prices |= await self._read_prices(new)
                asked |= new | prices.keys()
            yield [
                each if each.renewal_price or is_premium else _with_price(each, prices)
                for each, is_premium in held
            ]

    async def read_domains(self, place: Place) -> Page[Any]:  # any JSON; `domain_row` validates it
        """Return one page of the domains of the account, as the registrar writes them."""
        raise NotImplementedError  # not abstract: an adapter that overrides list_domains has no use for it

    async def read_prices(self, suffixes: Collection[str]) -> Mapping[str, Money]:
        """Return the registrar's renewal prices of a year by suffix, of at least these, such as `co.uk`."""
        del suffixes
        return {}

    async def _read_prices(self, suffixes: Collection[str]) -> Mapping[str, Money]:
        """Return the prices; none when the registrar refuses them, because the list of domains is worth more.

        None either when a price is no amount of money.
        """
        try:
            return await self.read_prices(suffixes)
        except (RegistrarFailed, ValueError):
            return {}

    async def verify(self) -> None:
        """Send the cheapest request that the credentials must allow; by default the first page of domains."""
        await self.read_domains(Place())

    async def get_domain(self, domain: str) -> RegistrarDomain:
        """Return one domain. Raise RegistrarFailed with NOT_FOUND when the account does not hold it."""
        if self.domain_path is not None:
            return (await self.call(self.domain_row, self.path(self.domain_path, domain))).held()
        async for page in bounded(self.list_domains()):
            for held in page:
                if held.domain == domain:
                    return held
        raise RegistrarFailed(RegistrarFailure.NOT_FOUND)

    def list_charges(self, *, since: date, until: date) -> AsyncIterator[Sequence[BilledLine]]:
        """Yield the lines that were charged from `since` to `until`, both included, page by page."""
        del since, until
        raise RegistrarFailed(RegistrarFailure.UNSUPPORTED)

    async def get_auth_code(self, domain: str) -> AuthCode:
        """Return the authorization code, or how the registrar delivers it."""
        if self.code_path is None:
            return AuthCode(delivery=self.profile.capabilities.auth_code)
        row = await self.call(CodeRow, self.path(self.code_path, domain))
        if row.auth_code is None:
            hint = f"Unlock the domain at {self.profile.label} and try again."
            raise RegistrarFailed(RegistrarFailure.REFUSED, hint=hint)
        return row.code()

    async def find_transfer(self, domain: str) -> HeldTransfer | None:
        """Return the latest transfer of the domain at the registrar."""
        try:
            rows = await self.list_transfers(domain)
        except RegistrarFailed as failed:
            if failed.kind is RegistrarFailure.NOT_FOUND:
                return None
            raise
        return max(rows, key=lambda row: row.started_at or _FIRST_TIME).held() if rows else None

    async def list_transfers(self, domain: str) -> Sequence[TransferRow]:
        """Return the transfers of the domain that the registrar knows."""
        if self.transfer_path is None:
            raise RegistrarFailed(RegistrarFailure.UNSUPPORTED)
        return [await self.call(self.transfer_row, self.path(self.transfer_path, domain))]

    async def set_auto_renew(self, domain: str, *, enabled: bool) -> None:
        """Switch automatic renewal on or off."""
        del domain, enabled
        raise RegistrarFailed(RegistrarFailure.UNSUPPORTED)

    def path(self, template: str, domain: str = "") -> str:
        """Return a path for a domain."""
        return template.format_map({**self._credentials, "domain": domain})

    async def call(self, form: type[Model], path: str, **query: str | int) -> Model:
        """Send GET, and return the content of the response as a model."""
        return await self.send("GET", path, into=self.reader(form), query=query)

    async def send(
        self,
        method: str,
        path: str,
        *,
        into: Callable[[ApiResponse], T],
        query: Mapping[str, str | int] | None = None,
        json: object = None,
        headers: Mapping[str, str] | None = None,
        reads: bool = True,
    ) -> T:
        """Send a request and parse the response; one that changes data (`reads` is False) is never repeated."""
        query = {**self._query, **(query or {})}
        target = f"{path}?{urlencode(query)}" if query else path
        body = None if json is None else to_json(json)
        typed = {} if body is None else {"Content-Type": "application/json"}
        sent = self.sign(method, target, headers={**self._headers, **typed, **(headers or {})}, body=body)
        return await self._api.send(
            method, target, into=into, headers=sent, body=body, reads=reads, limits=self.limits
        )

    def sign(self, method: str, target: str, *, headers: Headers, body: bytes | None) -> Headers:
        """Return the headers of a request, with a signature where the registrar wants one."""
        del method, target, body
        return headers

    def reader(self, form: type[Model]) -> Callable[[ApiResponse], Model]:
        """Return the function that reads the content of a response as a model."""
        return lambda response: read(form, self.content(response))

    def content(self, response: ApiResponse) -> Any:  # any JSON; `read` validates it. Or XML
        """Return the content of a response. Raise RegistrarFailed for the registrar's errors."""
        if response.status >= HTTPStatus.BAD_REQUEST:
            raise self.error_of(response)
        return response.json() if response.body else None

    def error_of(self, response: ApiResponse) -> RegistrarFailed:
        """Return the failure of an error in JSON. Raise RegistrarFailed for one that is none, but for 401."""
        try:
            body = response.json()
        except RegistrarFailed:
            if response.status != HTTPStatus.UNAUTHORIZED:
                raise
            body = None
        members = body if isinstance(body, dict) else {}
        code, text = members.get(self.code_member or ""), members.get(self.error_member)
        return self.failure(
            str(code or response.status), status=response.status, text=text if isinstance(text, str) else None
        )

    def failure(
        self,
        code: str | None,
        *,
        status: int = HTTPStatus.BAD_REQUEST,
        retry_after_s: float | None = None,
        text: str | None = None,
    ) -> RegistrarFailed:
        """Return the failure of an error: by the registrar's own code, else by its text, else by the status.

        A refusal without a remedy shows the registrar's own text.
        """
        words, said = {**self.words, **_KINDS_OF_WORDS}, (text or "").lower()
        kind = (
            self.failures.get(code or "")
            or next((kind for part, kind in words.items() if part in said), None)
            or _KINDS_OF_STATUSES.get(status, RegistrarFailure.REFUSED)
        )
        hint = {RegistrarFailure.AUTH_FAILED: self.auth_hint, **self.hints}.get(kind)
        hint = None if hint is None else hint.format_map(self._credentials)
        if hint is None and text and kind is RegistrarFailure.REFUSED:
            hint = f"{self.profile.label}: {self._without_credentials(text)}"
        return RegistrarFailed(kind, code=code, hint=hint, retry_after_s=retry_after_s)

    def _without_credentials(self, text: str) -> str:
        """Return a registrar's text on one line, as it can be stored, without credentials that it repeats."""
        for value in self._credentials.values():
            text = text.replace(value, "…") if len(value) >= MIN_SECRET else text
        return texts.printable(text)[:MAX_TEXT]


def _suffix(domain: str) -> str:
    return domain.partition(".")[2]


def _with_price(held: RegistrarDomain, prices: Mapping[str, Money]) -> RegistrarDomain:
    return replace(held, renewal_price=prices.get(_suffix(held.domain)))


async def list_pages(
    read_page: Callable[[Place], Awaitable[Page[T]]],
    *,
    end: ListEnd = ListEnd.CURSOR,
    items: Items | None = None,
) -> AsyncIterator[Sequence[T]]:
    """Yield the rows of each page. Raise RegistrarFailed after the last one if some are known to lack.

    `items` reads the rows; those that it could not read lack too.
    """
    reason = ""
    place, totals, is_cut, is_last = Place(), set[int | None](), False, False
    while not is_last:
        page = await read_page(place)
        yield page.rows
        place = Place(number=place.number + 1, start=place.start + len(page.rows), cursor=page.cursor)
        totals.add(page.total)
        is_cut |= page.is_cut
        is_last = {
            ListEnd.CURSOR: page.cursor in {None, ""},
            ListEnd.EMPTY: not page.rows,
            ListEnd.TOTAL: not page.rows or (page.total is not None and place.start >= page.total),
        }[end]
    if is_cut:
        reason = "A page had another number of domains than it names, or did not say where it ends."
    elif totals != {place.start} and (end is ListEnd.TOTAL or totals != {None}):
        named = ", ".join(str(each) for each in sorted(each for each in totals if each is not None))
        reason = f"It listed {place.start} domains and names {named or 'none'} as total."
    (items or Items()).close(reason)


async def bounded(
    pages: AsyncIterator[Sequence[T]], *, max_rows: int = MAX_ROWS, max_pages: int = MAX_PAGES
) -> AsyncIterator[Sequence[T]]:
    """Yield the pages of a list. Raise RegistrarFailed for one that does not end, or has the same page twice."""
    before: Sequence[T] = ()
    rows = count = empty = 0
    async for page in pages:
        rows, count, empty = rows + len(page), count + 1, 0 if page else empty + 1
        if empty > MAX_EMPTY_PAGES:
            hint = (
                f"{empty} consecutive pages were empty, and the list has more pages. Report this to the registrar."
            )
            raise RegistrarFailed(RegistrarFailure.MALFORMED, hint=hint)
        if rows > max_rows or count > max_pages or (page and page == before):
            raise RegistrarFailed(RegistrarFailure.MALFORMED)
        before = page
        yield page
