"""The reply to an export."""

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from builders.kit.http.bodies import Reply, by_example
from builders.kit.values.money import Money
from builders.portfolio.domains.records import ExpirySource, Ownership, PortfolioDomainStatus
from builders.portfolio.ledger.records import EntryKind, EntrySource

_ROW: JsonDict = {
    "domain": "harbour.com",
    "unicode": "harbour.com",
    "status": "owned",
    "ownership": "owned",
    "counterparty": None,
    "revenue_share": None,
    "registrar": "Porkbun",
    "registered_on": "2020-03-01",
    "acquired_on": "2024-03-01",
    "expires_at": "2027-03-01T00:00:00Z",
    "expiry_source": "manual",
    "auto_renew": True,
    "locked": None,
    "privacy": None,
    "nameservers": [],
    "epp_statuses": [],
    "tags": ["ports"],
    "folder": None,
    "notes": None,
    "pinned": False,
    "renewal_price": {"amount": "12.34", "currency": "USD"},
    "asking_price": None,
    "min_offer": None,
    "estimated_value": None,
    "entries": [
        {"kind": "acquisition", "amount": "99.00", "currency": "USD", "on": "2024-03-01", "source": "manual"}
    ],
}


class PortfolioExportEntry(Reply):
    """An entry of the ledger."""

    kind: Annotated[EntryKind, Field(description="Kind of the amount.")]
    amount: Annotated[str, Field(description="Exact decimal digits.")]
    currency: Annotated[str, Field(description="ISO 4217 code.")]
    on: Annotated[date, Field(description="Day of the payment.")]
    years: Annotated[int | None, Field(description="Years that the amount pays for; absent when unknown.")] = None
    registrar: Annotated[str | None, Field(description="The payee; absent when unknown.")] = None
    memo: Annotated[str | None, Field(description="Note about the amount; absent without one.")] = None
    source: Annotated[EntrySource, Field(description="Source of the entry.")]
    reference: Annotated[
        str | None,
        Field(
            description=(
                "Reference of the source; an entry with the same reference is recorded once; absent without one."
            )
        ),
    ] = None


class PortfolioExportRow(Reply):
    """A domain with all members of an import."""

    domain: Annotated[str, Field(description="Lower-case A-label.")]
    unicode: Annotated[str, Field(description="The name in Unicode; for most names the same.")]
    status: Annotated[PortfolioDomainStatus, Field(description="Status of the domain in your portfolio.")]
    ownership: Annotated[Ownership, Field(description="Legal basis on which you hold the domain.")]
    counterparty: Annotated[str | None, Field(description="The lessor or consignor of the domain.")]
    revenue_share: Annotated[str | None, Field(description="Share of the counterparty in the income, in percent.")]
    registrar: Annotated[str | None, Field(description="Where the domain is registered.")]
    registered_on: Annotated[date | None, Field(description="When the domain was first registered.")]
    acquired_on: Annotated[date | None, Field(description="When you acquired the domain.")]
    expires_at: Annotated[datetime | None, Field(description="When the registration expires.")]
    expiry_source: Annotated[ExpirySource | None, Field(description="Source of the expiry.")]
    auto_renew: Annotated[bool | None, Field(description="Whether the registrar renews the domain.")]
    locked: Annotated[bool | None, Field(description="Whether transfers are locked.")]
    privacy: Annotated[bool | None, Field(description="Whether the contacts are hidden.")]
    nameservers: Annotated[list[str], Field(description="Name servers of the domain.")]
    epp_statuses: Annotated[list[str], Field(description="Statuses at the registry as EPP names them.")]
    tags: Annotated[list[str], Field(description="Your tags.")]
    folder: Annotated[str | None, Field(description="Your folder.")]
    notes: Annotated[str | None, Field(description="Your notes.")]
    pinned: Annotated[bool, Field(description="Whether you keep the domain independently of its figures.")]
    renewal_price: Annotated[Money | None, Field(description="Price of one more year.")]
    asking_price: Annotated[Money | None, Field(description="Price that you ask for the domain.")]
    min_offer: Annotated[Money | None, Field(description="Lowest offer that you consider.")]
    estimated_value: Annotated[Money | None, Field(description="Your estimate of the value of the domain.")]
    entries: Annotated[
        list[PortfolioExportEntry] | None, Field(description="Its ledger; null when your role does not see money.")
    ]


class PortfolioExport(Reply):
    """All domains of a portfolio: the body of an import."""

    model_config = ConfigDict(json_schema_extra=by_example({"rows": [_ROW]}))

    rows: Annotated[list[PortfolioExportRow], Field(description="The domains, by name.")]
    redacted: Annotated[
        list[Literal["finance"]], Field(description="`finance`: your role does not see money. Absent otherwise.")
    ] = []  # noqa: RUF012 - pydantic copies it
