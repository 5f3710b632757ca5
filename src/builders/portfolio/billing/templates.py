"""Templates of CSV files, and the headers that mean each field. The templates are data: `templates.toml`."""

import csv
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from io import StringIO

from builders.kit.sheets.csv_files import normalize_header


class ChargeField(StrEnum):
    """A field of a row of charges."""

    DATE = "date"
    ORDER = "order"
    LINE = "line"
    PARENT_ORDER = "parent_order"
    DOMAIN = "domain"
    TLD = "tld"  # of a name in two columns
    DESCRIPTION = "description"
    KIND = "kind"
    YEARS = "years"
    AMOUNT = "amount"  # with tax and fees
    NET = "net"  # without
    TAX = "tax"
    FEES = "fees"
    CURRENCY = "currency"


# The headers of each field in their normalized form, the best one first.
HEADERS: Mapping[ChargeField, Sequence[str]] = {
    ChargeField.DATE: (
        *("date", "order date", "transaction date", "paid date", "payment date", "invoice date", "charged on"),
        "created",
    ),
    ChargeField.ORDER: (
        *("order id", "order number", "order", "invoice number", "invoice", "transaction id", "receipt"),
        "reference",
    ),
    ChargeField.LINE: ("line id", "line", "item id"),
    ChargeField.PARENT_ORDER: ("parent order id", "parent order", "original order", "refunded order", "refund of"),
    ChargeField.DOMAIN: ("domain", "domain name", "domains", "fqdn", "name", "sld"),
    ChargeField.TLD: ("tld", "extension", "suffix"),
    ChargeField.DESCRIPTION: (
        *("description", "details", "line item", "item", "product", "product name", "service", "memo"),
    ),
    ChargeField.KIND: ("type", "transaction type", "order type", "action", "operation", "kind"),
    ChargeField.YEARS: ("years", "term", "duration", "period", "qty", "quantity"),
    ChargeField.AMOUNT: ("total", "total amount", "amount paid", "amount", "amount usd", "charge", "paid", "cost"),
    ChargeField.NET: ("subtotal", "price", "net", "net amount", "price excl tax", "unit price"),
    ChargeField.TAX: ("tax", "taxes", "vat", "sales tax", "gst"),
    ChargeField.FEES: ("fees", "fee", "icann fee"),
    ChargeField.CURRENCY: ("currency", "currency code"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a template."""

    name: str  # of the field
    header: str
    type: str  # date, text, domain, kind, number, amount, currency
    required: bool
    example: str

    @property
    def aliases(self) -> Sequence[str]:
        """Return other headers that mean the field."""
        own = normalize_header(self.header)
        known = HEADERS[ChargeField(self.name)] if self.name in FIELD_NAMES else ()
        return [each for each in known if each != own]


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """How a CSV file of a registrar is written."""

    id: str
    title: str
    provider: str | None
    columns: Sequence[Column]
    requires: frozenset[str]
    notes: str
    is_verified: bool
    is_parking: bool  # revenue, which another operation records
    sample: Sequence[Sequence[str]]

    @property
    def header_row(self) -> str:
        """Return the header as a line of CSV."""
        return _csv([[each.header for each in self.columns]]).strip()

    @property
    def sample_csv(self) -> str:
        """Return a file that can be imported."""
        return _csv([[each.header for each in self.columns], *self.sample])


def _csv(rows: Sequence[Sequence[str]]) -> str:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _load() -> Mapping[str, Template]:
    text = files("builders.portfolio.billing").joinpath("templates.toml").read_text(encoding="utf-8")
    return {
        name: Template(
            id=name,
            title=table["title"],
            provider=table.get("provider"),
            columns=[Column(**each) for each in table["columns"]],
            requires=frozenset(table["requires"]),
            notes=table["notes"],
            is_verified=table["verified"],
            is_parking=table.get("is_parking", False),
            sample=table["sample"],
        )
        for name, table in tomllib.loads(text).items()
    }


FIELD_NAMES = frozenset(each.value for each in ChargeField)
TEMPLATES = _load()
GENERIC = TEMPLATES["generic"]
KNOWN = frozenset(header for headers in HEADERS.values() for header in headers) | {
    normalize_header(each.header) for template in TEMPLATES.values() for each in template.columns
}


def recognize(header: Sequence[str]) -> Template:
    """Return the most specific template whose required headers are all there; `generic` if none is."""
    present = frozenset(map(normalize_header, header))
    found = [each for each in TEMPLATES.values() if not each.is_parking and each.requires <= present]
    return max(found, key=lambda each: len(each.requires))


def map_columns(
    header: Sequence[str], template: Template, mapping: Mapping[ChargeField, str]
) -> Mapping[ChargeField, int]:
    """Return the column of each field: by the mapping, by the template, then by the known headers."""
    normal = [normalize_header(each) for each in header]
    own = {
        ChargeField(each.name): normalize_header(each.header)
        for each in template.columns
        if each.name in FIELD_NAMES
    }
    found: dict[ChargeField, int] = {}
    wanted = (
        {name: [normalize_header(each)] for name, each in mapping.items()},
        {name: [each] for name, each in own.items()},
        HEADERS,
    )
    for headers in wanted:
        for name, choices in headers.items():
            at = next((normal.index(each) for each in choices if each in normal), None)
            if at is not None and name not in found and at not in found.values():
                found[name] = at
    return found


def list_templates(provider: str | None) -> Sequence[Template]:
    """Return the templates, or those of a provider and the generic one where it has none."""
    if provider is None:
        return list(TEMPLATES.values())
    own = [each for each in TEMPLATES.values() if each.provider == provider.lower()]
    return own or [GENERIC]
