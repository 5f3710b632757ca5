"""Requests of billing."""

from collections.abc import Sequence
from datetime import date
from typing import Annotated
from uuid import UUID

from pydantic import Field, StrictBool, StringConstraints

from builders.kit.errors import CURRENCY_PATTERN
from builders.kit.http.bodies import Body, PatchBody
from builders.kit.sheets.bodies import TableBody
from builders.kit.sheets.sources import SentTable, TableOptions
from builders.kit.values.docs import doc
from builders.kit.values.money import Money
from builders.portfolio.billing.charge_imports import CHARGES
from builders.portfolio.billing.records import MAX_PARTS, ChargePart, SyncOptions

Currency = Annotated[str, StringConstraints(pattern=CURRENCY_PATTERN)]
Provider = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80)]
Providers = Annotated[list[Provider] | None, Field(max_length=100, description="Only these registrars.")]
PROVIDER = "The registrar that charged, or `manual:NAME`; by default that of the format."
CURRENCY = "Currency of amounts without one; by default the portfolio's base currency."
APPLY = "Whether to book charges with a certain domain; otherwise they are only matched."


class BillingImport(TableBody):
    """Charges to import: a `csv` text, or `rows`."""

    kind = CHARGES

    provider: Annotated[Provider | None, doc(PROVIDER)] = None
    currency: Annotated[Currency | None, doc(CURRENCY)] = None
    apply: Annotated[StrictBool, doc(APPLY)] = True

    def table(self) -> SentTable[TableOptions]:
        """Return the table."""
        return self.sent_table(TableOptions, currency=self.currency)


class ChargeUpdate(PatchBody, extra="forbid"):
    """A member's decision about a charge; absent members do not change."""

    domain: Annotated[
        str | None,
        Field(
            max_length=2048,
            description="Name or identifier of the portfolio domain of the charge; null if there is none.",
        ),
    ] = None
    ignored: Annotated[StrictBool, doc("Whether the charge is permanently excluded from the portfolio.")] = False


class ChargePartCreate(Body, extra="forbid"):
    """A part of a charge."""

    domain: Annotated[
        str, Field(max_length=2048, description="Name or identifier of a portfolio domain; of one part each.")
    ]
    amount: Annotated[Money, doc("Its amount in the currency of the charge; of a refund negative.")]


class ChargeSplit(Body, extra="forbid"):
    """The parts of a charge, whose amounts add up to its total."""

    parts: Annotated[
        list[ChargePartCreate],
        Field(min_length=2, max_length=MAX_PARTS, description="The part of each domain."),
    ]

    def list_parts(self) -> Sequence[ChargePart]:
        """Return the records."""
        return [ChargePart(domain=each.domain, amount=each.amount) for each in self.parts]


class BillingSync(Body):
    """Which charges to fetch, and whether to book them."""

    refuses_similar = True

    providers: Providers = None
    since: Annotated[date | None, doc("First day of the charges; by default some days before the last sync.")] = (
        None
    )
    until: Annotated[date | None, doc("Last day of the charges; today by default.")] = None
    apply: Annotated[StrictBool, doc(APPLY)] = True
    dry_run: Annotated[StrictBool, doc("Report the effect without recording charges.")] = False

    def sync_options(self, member_id: UUID) -> SyncOptions:
        """Return the record."""
        return SyncOptions(
            since=self.since,
            until=self.until,
            applies=self.apply,
            dry_run=self.dry_run,
            member_id=member_id,
        )


class BillingEnsure(Body):
    """When data counts as stale."""

    refuses_similar = True

    force: Annotated[StrictBool, doc("Refresh data that is not stale, too.")] = False
    max_age_hours: Annotated[int, Field(ge=1, le=24 * 365, description="Hours after which data is stale.")] = 24
    providers: Providers = None
