"""The interface of all registrar adapters, and helpers for their responses."""

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, ClassVar, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field
from pydantic.alias_generators import to_camel

from builders.kit.values import domain_names
from builders.portfolio.registrars.api_client import ApiClient, T
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import (
    AuthCode,
    AuthCodeDelivery,
    BilledLine,
    ChargeKind,
    HeldDomain,
    HeldTransfer,
    Profile,
)

MAX_ROWS, MAX_PAGES = 1_000_000, 100_000  # of a list
MAX_EMPTY_PAGES = 3  # in a row
FEW_ROWS = 500  # more take over 20 ms of processor time
Made = TypeVar("Made")


class Adapter(ABC):
    """The account of a customer at one registrar. Every method raises RegistrarFailed."""

    profile: ClassVar[Profile]

    def __init__(self, api: ApiClient, *, credentials: Mapping[str, str]) -> None:
        self._api = api
        self._credentials = credentials

    def __repr__(self) -> str:
        """Leave out the credentials."""
        return f"{type(self).__name__}({self._api.base_url!r})"

    @classmethod
    def reads_one_domain(cls) -> bool:
        """Return whether `get_domain` queries one domain instead of listing all."""
        return cls.get_domain is not Adapter.get_domain

    @abstractmethod
    def list_domains(self) -> AsyncIterator[Sequence[HeldDomain]]:
        """Yield the domains of the account, page by page; an empty page is one that the registrar returned.

        The iterator ends only where the registrar said that the list ends (`Profile.list_end`). Raise
        RegistrarFailed with INCOMPLETE after the last page when it did not, or when its total differs.
        """

    async def verify(self) -> None:
        """Send the cheapest request that the credentials must allow; by default the first page of domains."""
        async for _ in self.list_domains():
            return

    async def get_domain(self, domain: str) -> HeldDomain:
        """Return one domain. Raise RegistrarFailed with NOT_FOUND when the account does not hold it."""
        async for page in bounded(self.list_domains()):
            for held in page:
                if held.domain == domain:
                    return held
        raise RegistrarFailed(RegistrarFailure.NOT_FOUND)

    def list_charges(self, *, since: date, until: date) -> AsyncIterator[Sequence[BilledLine]]:
        """Yield the lines that were charged from `since` to `until`, both included, page by page.

        An empty page is one that the registrar returned: where no line is of the period, none is yielded.
        """
        del since, until
        raise RegistrarFailed(RegistrarFailure.UNSUPPORTED)

    async def get_auth_code(self, domain: str) -> AuthCode:
        """Return the authorization code, or how the registrar delivers it."""
        del domain
        if self.profile.capabilities.auth_code is AuthCodeDelivery.RETURNED:
            raise NotImplementedError
        return AuthCode(delivery=self.profile.capabilities.auth_code)

    async def find_transfer(self, domain: str) -> HeldTransfer | None:
        """Return the latest transfer of the domain at the registrar."""
        del domain
        raise RegistrarFailed(RegistrarFailure.UNSUPPORTED)

    async def set_auto_renew(self, domain: str, *, enabled: bool) -> None:
        """Switch automatic renewal on or off."""
        del domain, enabled
        raise RegistrarFailed(RegistrarFailure.UNSUPPORTED)


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


class Total:
    """Compares the rows of a list with the total that each of its pages names."""

    def __init__(self) -> None:
        self.rows = 0
        self._named = set[int | None]()

    def add(self, rows: int, named: int | None) -> bool:
        """Count the rows of a page; return whether the total is reached, or the page is empty."""
        self.rows += rows
        self._named.add(named)
        return rows == 0 or (named is not None and self.rows >= named)

    def require(self) -> None:
        """Raise RegistrarFailed unless all pages name one total, and the list has as many rows."""
        if self._named != {self.rows}:
            named = ", ".join(str(each) for each in sorted(each for each in self._named if each is not None))
            raise incomplete(f"It listed {self.rows} domains and names {named or 'none'} as total.")


def incomplete(reason: str) -> RegistrarFailed:
    """Return the failure of a list whose end is not confirmed."""
    hint = f"{reason} What was listed is kept, no domain is marked missing, and the next sync lists all again."
    return RegistrarFailed(RegistrarFailure.INCOMPLETE, hint=hint)


# A list whose validation ends at the first error: each error of a long list takes memory.
Rows: TypeAlias = Annotated[tuple[T, ...], FailFast()]


class Row(BaseModel):
    """A part of a response whose members are in camel case; unknown members are ignored."""

    model_config = ConfigDict(alias_generator=to_camel, frozen=True)


async def convert(rows: Sequence[T], make: Callable[[T], Made]) -> Sequence[Made]:
    """Return the result of `make` for each row; many rows in a thread, so that the event loop stays free."""
    if len(rows) <= FEW_ROWS:
        return [make(row) for row in rows]
    return await asyncio.to_thread(lambda: [make(row) for row in rows])


def a_label(name: str) -> str:
    """Return the A-label of a name as a registrar writes it, or the name in lower case when it is no domain."""
    return domain_names.find_a_label(name) or name.strip().lower()


def classify(description: str) -> ChargeKind:
    """Return the kind of a charge by the words of its description; OTHER when none is known."""
    text = _NO_REFUND.sub(" ", description.lower())
    return next((kind for word, kind in _KIND_WORDS if word in text), ChargeKind.OTHER)


def read_time(text: str | None) -> datetime | None:
    """Return the UTC time of an ISO 8601 text; without a zone it is UTC. None for an empty or invalid text."""
    try:
        found = datetime.fromisoformat((text or "").strip())
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def read_number(text: str | None) -> int:
    """Return a whole number, 0 for an empty text. Raise RegistrarFailed for any other text."""
    try:
        return int(text or "0")
    except ValueError:
        raise RegistrarFailed(RegistrarFailure.MALFORMED) from None


def read_total(text: str | None) -> int | None:
    """Return the total that a page names; None without one."""
    return None if text is None or not text.strip() else read_number(text)


def read_flag(value: object) -> bool | None:
    """Return a flag that a registrar writes as JSON boolean, number or word; None for anything else."""
    if isinstance(value, bool):
        return value
    return _FLAGS.get(str(value).strip().lower())


# Credit that is no refund: a way to pay, or money that is paid into the account.
_NO_REFUND = re.compile(
    r"credit[\s-]*cards?|(?:account|store|pre-?paid)[\s-]+credits?|credits?[\s-]+(?:added|purchased?|top[\s-]?up)"
    r"|(?:add|added|buy|bought|purchased?|top[\s-]?up)[\s-]+(?:of[\s-]+)?credits?"
)
# The first word that occurs decides: "Domain Name Renewal" is no registration.
_KIND_WORDS = (
    ("refund", ChargeKind.REFUND),
    ("credit", ChargeKind.REFUND),
    ("privacy", ChargeKind.PRIVACY),
    ("whois", ChargeKind.PRIVACY),
    ("redempt", ChargeKind.REDEMPTION),
    ("restor", ChargeKind.REDEMPTION),
    ("renew", ChargeKind.RENEWAL),
    ("transfer", ChargeKind.TRANSFER),
    ("regist", ChargeKind.REGISTRATION),
    ("create", ChargeKind.REGISTRATION),
    ("icann", ChargeKind.TAX),
    ("tax", ChargeKind.TAX),
    ("vat", ChargeKind.TAX),
)
_FLAGS: dict[str, bool] = {
    **dict.fromkeys(("1", "yes", "true", "on", "enabled", "locked"), True),
    **dict.fromkeys(("0", "no", "false", "off", "disabled", "unlocked"), False),
}
Flag = Annotated[bool | None, BeforeValidator(read_flag)]
# Sums and products of amounts below this limit are exact, and none overflows.
_AMOUNT_LIMIT = Decimal(10) ** 22
Amount = Annotated[Decimal, Field(gt=-_AMOUNT_LIMIT, lt=_AMOUNT_LIMIT)]
