"""Requests of billing."""

from datetime import date
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, ConfigDict, Field, StrictBool, StringConstraints, model_validator
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from builders.kit.http.bodies import Body, PatchBody, by_example
from builders.kit.sheets.dates import DateFormat
from builders.kit.values.patches import Patch
from builders.portfolio.billing import templates
from builders.portfolio.billing.importing import NewImport
from builders.portfolio.billing.sheets import MAX_ROWS, SheetOptions
from builders.portfolio.billing.sync_records import SyncOptions

_IMPORT: JsonDict = {
    "csv": "Date,Order ID,Domain,Type,Years,Amount,Currency\n2026-03-01,1001,harbour.com,renewal,1,10.98,USD\n",
    "provider": "namecheap",
    "dry_run": True,
}
_ROWS: JsonDict = {"rows": [{"date": "2026-03-01", "domain": "harbour.com", "type": "renewal", "amount": "10.98"}]}
MAX_PROVIDERS = 100


def _check_template(name: str) -> str:
    known = [each.id for each in templates.TEMPLATES.values() if not each.is_parking]
    if name not in known:
        raise PydanticCustomError(
            "template_unknown", "Input should be one of: {known}", {"known": ", ".join(known)}
        )
    return name


Currency = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
Provider = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80)]
TemplateName = Annotated[str, AfterValidator(_check_template)]


class BillingImport(Body):
    """Charges to import: a `csv` text, or `rows`."""

    model_config = ConfigDict(json_schema_extra=by_example(_IMPORT, _ROWS))

    csv: Annotated[str | None, Field(min_length=1, description="Text of a CSV file with a header.")] = None
    rows: Annotated[
        list[dict[str, Any]] | None,
        Field(
            min_length=1,
            max_length=MAX_ROWS,
            description="Rows as objects; their members are named as the columns of a file.",
        ),
    ] = None
    provider: Annotated[
        Provider | None,
        Field(description="The registrar that charged, or `manual:NAME`; by default that of the template."),
    ] = None
    template: Annotated[
        TemplateName | None, Field(description="Format of the file; by default recognized by its header.")
    ] = None
    mapping: Annotated[
        dict[templates.ChargeField, str],
        Field(description="The column of a field, by field; for columns that are not recognized."),
    ] = {}  # noqa: RUF012 - pydantic copies it
    currency: Annotated[
        Currency | None,
        Field(description="Currency of amounts without one; by default the portfolio's base currency."),
    ] = None
    date_order: Annotated[
        Literal["mdy", "dmy"] | None,
        Field(description="Order of month and day in dates such as 01/02/2026; by default derived from the file."),
    ] = None
    delimiter: Annotated[
        Literal[",", ";", "\t", "|"] | None,
        Field(description="Separator of the cells; by default derived from the file."),
    ] = None
    dry_run: Annotated[StrictBool, Field(description="Report the effect without recording charges.")] = False
    apply: Annotated[
        StrictBool,
        Field(description="Whether to book charges with a certain domain; otherwise they are only matched."),
    ] = True

    @model_validator(mode="after")
    def _require_one_form(self) -> "BillingImport":
        if (self.csv is None) is (self.rows is None):
            raise PydanticCustomError("source_count", "Send exactly one of csv and rows")
        return self

    def new_import(self) -> NewImport:
        """Return the record."""
        return NewImport(
            content=self.csv if self.csv is not None else self.rows or [],
            options=SheetOptions(
                template=self.template,
                mapping=self.mapping,
                currency=self.currency,
                date_format=None if self.date_order is None else DateFormat(self.date_order),
                delimiter=self.delimiter,
            ),
            provider=self.provider,
            applies=self.apply,
        )


class ChargeUpdate(PatchBody):
    """A member's decision about a charge; absent members do not change."""

    model_config = ConfigDict(json_schema_extra=by_example({"domain": "harbour.com"}, {"ignored": True}))

    domain: Annotated[
        str | None,
        Field(
            max_length=2048,
            description="Name or identifier of the portfolio domain of the charge; null if there is none.",
        ),
    ] = None
    ignored: Annotated[
        StrictBool, Field(description="Whether the charge is permanently excluded from the portfolio.")
    ] = False

    @property
    def domain_patch(self) -> Patch[str | None]:
        """Return the domain, UNSET when it stays."""
        return self.patch_of("domain", self.domain)

    @property
    def ignored_patch(self) -> Patch[bool]:
        """Return whether the charge is ignored, UNSET when that stays."""
        return self.patch_of("ignored", self.ignored)


class BillingSync(Body):
    """Which charges to fetch, and whether to book them."""

    model_config = ConfigDict(json_schema_extra=by_example({"providers": ["namesilo"], "apply": True}))

    providers: Annotated[
        list[Provider] | None, Field(max_length=MAX_PROVIDERS, description="Only these registrars.")
    ] = None
    since: Annotated[
        date | None, Field(description="First day of the charges; by default some days before the last sync.")
    ] = None
    until: Annotated[date | None, Field(description="Last day of the charges; today by default.")] = None
    apply: Annotated[
        StrictBool,
        Field(description="Whether to book charges with a certain domain; otherwise they are only matched."),
    ] = True
    dry_run: Annotated[StrictBool, Field(description="Report the effect without recording charges.")] = False

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

    model_config = ConfigDict(json_schema_extra=by_example({"max_age_hours": 24}))

    force: Annotated[StrictBool, Field(description="Refresh data that is not stale, too.")] = False
    max_age_hours: Annotated[int, Field(ge=1, le=24 * 365, description="Hours after which data is stale.")] = 24
    providers: Annotated[
        list[Provider] | None, Field(max_length=MAX_PROVIDERS, description="Only these registrars.")
    ] = None
