"""Request bodies of imports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError, to_json

from builders.kit.http.bodies import Body, by_example
from builders.kit.values import texts
from builders.portfolio.domain_files import formats, records
from builders.portfolio.domain_files.formats import FORMATS
from builders.portfolio.domain_files.records import (
    AUTO,
    MAX_ROWS,
    DateNotation,
    Defaults,
    ImportConflict,
    Options,
    Source,
)
from builders.portfolio.domains.records import MAX_TAG, MAX_TAGS, MAX_TEXT, Ownership
from builders.portfolio.imports.records import NewImport

_MEMBERS = {"csv": Source.FILE, "text": Source.TEXT, "rows": Source.ROWS, "domains": Source.NAMES}
_MAX_NAME = 2_048  # characters


def _keep_bytes(value: Any, read: ValidatorFunctionWrapHandler) -> Any:  # JSON, or the body of a text/csv request
    return value if isinstance(value, bytes) else read(value)


def _check_format(name: str) -> str:
    if name not in formats.list_ids():
        raise PydanticCustomError("format_unknown", "Input should be one of: {known}", {"known": _FORMAT_NAMES})
    return name


_FORMAT_NAMES = ", ".join([AUTO, *FORMATS])
FormatName = Annotated[str, AfterValidator(_check_format)]
CurrencyCode = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
RegistrarName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TEXT), texts.Plain
]
TagText = Annotated[
    str,
    StringConstraints(
        strip_whitespace=True, to_lower=True, min_length=1, max_length=MAX_TAG, pattern=r"^[^,;|]+$"
    ),
    texts.Plain,
]
FORMAT = f"Format of the file: `{AUTO}` recognizes it by the header, else one of {_FORMAT_NAMES}."
ON_CONFLICT = (
    "Effect of a row on an existing domain. `merge`: a value replaces the present one, a blank cell "
    "keeps it, tags are added. `overwrite`: a blank cell clears the value. `skip`: the domain stays as it is."
)
DATE_ORDER = "Order of day and month in numeric dates. `auto`: a date with a number above 12 decides, else `mdy`."
DRY_RUN = "Whether to report the effect of the import without any change."


class PortfolioImportDefaults(Body):
    """Values for rows that do not have them."""

    registrar: Annotated[
        RegistrarName | None, Field(description="Registrar of domains without one in the source.")
    ] = None
    ownership: Annotated[Ownership | None, Field(description="Ownership of added domains.")] = None
    tags: Annotated[
        list[TagText], Field(max_length=MAX_TAGS, description="Tags that are added to each domain.")
    ] = []  # noqa: RUF012 - pydantic copies it
    currency: Annotated[
        CurrencyCode | None, Field(description="ISO 4217 code of amounts without a currency; USD by default.")
    ] = None

    def record(self) -> Defaults:
        """Return the values."""
        return Defaults(registrar=self.registrar, ownership=self.ownership, tags=self.tags, currency=self.currency)


class PortfolioImportCreate(Body):
    """What to import: exactly one of `csv`, `rows`, `domains` and `text`."""

    model_config = ConfigDict(
        json_schema_extra=by_example(
            {
                "csv": "Domain Name,Expiration Date,Auto-renew,Status\nharbour.com,2027-03-01,On,Active\n",
                "on_conflict": "merge",
                "dry_run": True,
            }
        )
    )

    csv: Annotated[
        Annotated[str, WrapValidator(_keep_bytes)] | None,
        Field(description="A CSV file as text. Send a file in another encoding as a body of type `text/csv`."),
    ] = None
    rows: Annotated[
        list[dict[str, Any]] | None,
        Field(
            max_length=MAX_ROWS,
            description="Rows as objects; their members are named as the fields, or as the headers of a file.",
        ),
    ] = None
    domains: Annotated[
        list[Annotated[str, StringConstraints(max_length=_MAX_NAME)]] | None,
        Field(max_length=MAX_ROWS, description="Names of domains, in either form."),
    ] = None
    text: Annotated[
        str | None,
        Field(description="A text with names of domains, separated by white space, commas or semicolons."),
    ] = None
    format: Annotated[FormatName, Field(description=FORMAT, examples=[AUTO])] = AUTO
    mapping: Annotated[
        dict[records.Field, str],
        Field(description="The column of a field, by field; for columns that are not recognized."),
    ] = {}  # noqa: RUF012 - pydantic copies it
    defaults: Annotated[
        PortfolioImportDefaults | None, Field(description="Values for rows that do not have them.")
    ] = None
    on_conflict: Annotated[ImportConflict, Field(description=ON_CONFLICT)] = ImportConflict.MERGE
    date_order: Annotated[DateNotation, Field(description=DATE_ORDER)] = DateNotation.AUTO
    dry_run: Annotated[bool, Field(description=DRY_RUN)] = False

    @model_validator(mode="after")
    def _require_one_source(self) -> Self:
        given = [name for name in _MEMBERS if getattr(self, name) is not None]
        if len(given) != 1:
            raise PydanticCustomError("source_count", "Send exactly one of csv, rows, domains and text")
        return self

    def new_import(self, query: "FileOptions") -> NewImport:
        """Return the import; an option of the query counts before that of the body."""
        name = next(each for each in _MEMBERS if getattr(self, each) is not None)
        own = Options(
            format=self.format,
            mapping=self.mapping,
            defaults=Defaults() if self.defaults is None else self.defaults.record(),
            on_conflict=self.on_conflict,
            date_order=self.date_order,
            dry_run=self.dry_run,
        )
        return NewImport(source=_MEMBERS[name], content=_content(getattr(self, name)), options=query.fill(own))


def _content(value: bytes | str | Sequence[Any]) -> bytes:
    if isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else to_json(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions:
    """Options of the query, for a body of type text/csv."""

    members: Mapping[str, Any]  # of Options, those that are given
    defaults: Mapping[str, Any]  # of Defaults

    def fill(self, options: Options) -> Options:
        """Return the options with those of the query in their place."""
        return replace(options, **self.members, defaults=replace(options.defaults, **self.defaults))
