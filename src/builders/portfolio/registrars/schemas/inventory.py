"""Request bodies of the inventory."""

from collections.abc import Mapping, Sequence
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

from builders.kit.errors import Invalid
from builders.kit.http.bodies import Body, by_example
from builders.portfolio.domain_files import formats, records
from builders.portfolio.domain_files.formats import FORMATS
from builders.portfolio.domain_files.records import AUTO, DateNotation, Options, Source
from builders.portfolio.registrars.inventory_records import MAX_IMPORT_ROWS, ImportMode, NewInventoryImport

_MEMBERS = {"csv": Source.FILE, "rows": Source.ROWS, "domains": Source.NAMES}


def _check_format(name: str) -> str:
    if name not in formats.list_ids():
        raise PydanticCustomError("format_unknown", "Input should be one of: {known}", {"known": _FORMATS})
    return name


def _keep_bytes(value: Any, read: ValidatorFunctionWrapHandler) -> Any:  # JSON, or the body of a text/csv request
    return value if isinstance(value, bytes) else read(value)


_FORMATS = ", ".join([AUTO, *FORMATS])
FormatName = Annotated[str, AfterValidator(_check_format)]
PROVIDER = "The registrar. One without an API is `manual:NAME`, and needs no connection."
CONNECTION = "Name of the connection, if the registrar has several."
MODE = (
    "`merge`: domains outside the list do not change. `replace_snapshot`: the list is complete, so domains "
    "outside it are missing, unless a row is refused or no row has a domain."
)
ADD = "Whether to add domains that the portfolio does not have."
FORMAT = f"Format of the file: `{AUTO}` recognizes it by the header, else one of {_FORMATS}."
DATE_ORDER = "Order of day and month in numeric dates. `auto`: an unambiguous date decides, else `mdy`."
DRY_RUN = "Whether to report the effect without any change."


class InventoryImportCreate(Body):
    """The list of domains of a registrar: exactly one of `csv`, `rows` and `domains`."""

    model_config = ConfigDict(
        json_schema_extra=by_example(
            {
                "provider": "manual:corner-registrar",
                "csv": "domain,expires,auto renew\nharbour.com,2027-03-01,yes\n",
                "mode": "replace_snapshot",
                "add_to_portfolio": False,
                "dry_run": True,
            }
        )
    )

    provider: Annotated[
        str | None,
        StringConstraints(max_length=80),
        Field(description=f"{PROVIDER} Required here, or in the query."),
    ] = None
    connection: Annotated[str | None, StringConstraints(max_length=80), Field(description=CONNECTION)] = None
    csv: Annotated[
        Annotated[str, WrapValidator(_keep_bytes)] | None,
        Field(
            description="A CSV file as text, in any of the formats of an import. Send a file in another encoding "
            "as a body of type `text/csv`."
        ),
    ] = None
    rows: Annotated[
        list[dict[str, Any]] | None,
        Field(
            max_length=MAX_IMPORT_ROWS, description="Rows as objects, named as the fields or headers of a file."
        ),
    ] = None
    domains: Annotated[
        list[Annotated[str, StringConstraints(max_length=2_048)]] | None,
        Field(max_length=MAX_IMPORT_ROWS, description="Names of domains, in either form."),
    ] = None
    mode: Annotated[ImportMode, Field(description=MODE)] = ImportMode.MERGE
    add_to_portfolio: Annotated[bool, Field(description=ADD)] = False
    format: Annotated[FormatName, Field(description=FORMAT)] = AUTO
    mapping: Annotated[
        dict[records.Field, str],
        Field(description="The column of a field, by field; for columns that are not recognized."),
    ] = {}  # noqa: RUF012 - pydantic copies it
    date_order: Annotated[DateNotation, Field(description=DATE_ORDER)] = DateNotation.AUTO
    dry_run: Annotated[bool, Field(description=DRY_RUN)] = False

    @model_validator(mode="after")
    def _require_one_source(self) -> Self:
        if len([name for name in _MEMBERS if getattr(self, name) is not None]) != 1:
            raise PydanticCustomError("source_count", "Send exactly one of csv, rows and domains")
        return self

    def new_import(self, query: Mapping[str, Any]) -> NewInventoryImport:
        """Return the import; an option of the query counts before that of the body. Raise Invalid."""
        name = next(each for each in _MEMBERS if getattr(self, each) is not None)
        said = self.model_copy(update=query)
        if said.provider is None:
            raise Invalid(("body", "provider"), "Field required", "missing")
        return NewInventoryImport(
            provider=said.provider,
            connection=said.connection,
            source=_MEMBERS[name],
            content=_content(getattr(self, name)),
            options=Options(
                format=said.format, mapping=said.mapping, date_order=said.date_order, dry_run=said.dry_run
            ),
            mode=said.mode,
            adds_to_portfolio=said.add_to_portfolio,
        )


def _content(value: bytes | str | Sequence[Any]) -> bytes:
    if isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else to_json(value)
