"""The columns of the catalog file, and the values of its rows.

What a domain costs and who can claim its names is strict: a bad cell refuses the row.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from builders.aliases.records import PriceInterval, SeparatorPolicy
from builders.catalog.records import DomainStatus, MailMode, PriceTier
from builders.kit.sheets.cells import CellRefused, choice, number, read_flag, shown, text, words
from builders.kit.sheets.kinds import Amount, Column, Currency, Row, TableKind
from builders.kit.sheets.tables import DEFAULT_CURRENCY
from builders.kit.values import texts
from builders.kit.values.domain_names import find_a_label
from builders.kit.values.money import Money

Json: TypeAlias = str | int | bool | list["Json"] | dict[str, "Json"] | None

_MAX_CATEGORIES = 5
_MAX_TAGS, _MAX_TAG = 20, 30
_MAX_AMOUNT = 99_999_999
_MAX_BANDS, _MAX_BAND = 10, 64
_MAX_RANK = 1_000_000


def _domain(cell: str) -> str:
    """Return the A-label of a domain with at least two labels, from either form."""
    name = find_a_label(cell)
    if name is None:
        raise CellRefused("domain_invalid", f"{shown(cell)} is not a domain name of two labels or more.")
    return name


class _Price(Amount):
    """A column of prices."""

    def read(self, cell: str, row: Row) -> Money | None:
        """Return the price of a cell. Raise CellRefused."""
        money = super().read(cell, row)
        if money is None or money.amount > _MAX_AMOUNT:
            raise CellRefused("amount_invalid", f"{shown(cell)} is not a price from 0 to {_MAX_AMOUNT}.")
        return money


class _Bands(Column[list[Json]]):
    """A column of the prices of short names, `2:120.00|3:60.00`: up to 2 characters, up to 3."""

    def __init__(self) -> None:
        super().__init__(read=lambda _: None, strict=True)

    def read(self, cell: str, row: Row) -> list[Json] | None:
        """Return the prices of a cell. Raise CellRefused."""
        found: dict[int, Json] = {}
        for part in filter(None, map(str.strip, cell.split("|"))):
            length, _, price = part.partition(":")
            max_len, money = number(_MAX_BAND)(length), _PRICE.read(price, row) if price.strip() else None
            if max_len is None or money is None or max_len in found:
                raise CellRefused(
                    "band_invalid", f"{shown(part)} is not a new length and its price, such as 3:60.00."
                )
            found[max_len] = money.to_wire()["amount"]
        if len(found) > _MAX_BANDS:
            raise CellRefused("too_many", f"{len(found)} lengths; at most {_MAX_BANDS} are allowed.")
        return [{"max_len": max_len, "amount": found[max_len]} for max_len in sorted(found)]


class CatalogRow(Row):
    """A row with a domain of the catalog."""

    domain = Column(read=_domain, type="domain", required=True)
    title = Column(read=text(80))
    tagline = Column(read=text(140))
    description = Column(read=text(2000, texts.cleaned))
    categories = Column(read=words(60, most=_MAX_CATEGORIES))  # slugs, the main one first
    tags = Column(read=words(_MAX_TAG, most=_MAX_TAGS))
    status = Column(read=choice(DomainStatus, "value_unknown"), strict=True)
    mail_mode = Column(read=choice(MailMode, "value_unknown"), strict=True)
    catch_all = Column(read=read_flag, strict=True)
    price_currency = Currency(strict=True)
    price_amount = _Price(currency="price_currency", strict=True)
    price_interval = Column(read=choice(PriceInterval, "value_unknown"), strict=True)
    price_tier = Column(read=choice(PriceTier, "value_unknown"), strict=True)
    short_name_prices = _Bands()
    min_local_length = Column(read=number(10), strict=True)
    separator_policy = Column(read=choice(SeparatorPolicy, "value_unknown"), strict=True)
    featured = Column(read=read_flag)
    rank = Column(read=number(_MAX_RANK, minimum=-_MAX_RANK))
    logo = Column(read=str)  # paths of images; `images.find` validates them
    cover = Column(read=str)
    icon = Column(read=str)


_PRICE = CatalogRow.price_amount
CATALOG = TableKind(
    name="catalog",
    row=CatalogRow,
    package="builders.catalog.catalog_file",
    multiline=frozenset({"description"}),
    key="domain",
)
# Of a new domain without the column, and of a blank cell.
_DEFAULTS: Mapping[str, Any] = {
    **dict.fromkeys(("title", "tagline", "description", "logo", "cover", "icon"), ""),
    **dict.fromkeys(("categories", "tags", "short_name_prices"), ()),
    **dict.fromkeys(("catch_all", "featured"), False),
    "status": DomainStatus.LIVE,
    "mail_mode": MailMode.BOTH,
    "price_currency": DEFAULT_CURRENCY,
    "price_interval": PriceInterval.YEAR,
    "price_tier": PriceTier.STANDARD,
    "min_local_length": 1,
    "separator_policy": SeparatorPolicy.IGNORE_DOTS,
    "rank": 0,
}
# As the database stores them.
STORED_DEFAULTS = {**_DEFAULTS, "logo": {}, "cover": {}, "icon": {}, "price_amount": "0"}


def values_of(row: CatalogRow) -> dict[str, Json]:
    """Return the JSON of a row by column, without the columns that the file does not have."""
    values: dict[str, Any] = {name: _DEFAULTS[name] for name in row.blank if name in _DEFAULTS} | row.values
    if "price_amount" in row.values or "price_amount" in row.blank:
        currency = values.setdefault("price_currency", DEFAULT_CURRENCY)
        values["price_amount"] = (row.price_amount or Money.zero(currency)).to_wire()["amount"]
    return {name: list(each) if isinstance(each, tuple) else each for name, each in values.items()}
