"""The members of each request with a table, and the query parameters of a body of type text/csv."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, Self, TypeVar

from fastapi import Query
from jiter import from_json
from pydantic import (
    AfterValidator,
    Field,
    GetJsonSchemaHandler,
    StringConstraints,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic.config import JsonDict
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, to_json

from builders.kit.errors import Invalid
from builders.kit.http.bodies import Body
from builders.kit.http.json_bodies import RAW_MEMBERS
from builders.kit.sheets.csv_files import MAX_HEADER_LINE
from builders.kit.sheets.encodings import find_encoding, list_encodings
from builders.kit.sheets.kinds import AUTO, TableKind
from builders.kit.sheets.sources import (
    DateNotation,
    DecimalNotation,
    DelimiterNotation,
    SentTable,
    Source,
    TableOptions,
)

Options = TypeVar("Options", bound=TableOptions)
SOURCES = {"csv": Source.FILE, "text": Source.TEXT, "rows": Source.ROWS, "domains": Source.NAMES}
FORMAT = f"Format of the table: `{AUTO}` recognizes it by the header. Or the name of a saved format."
SAVED, MAX_SAVED = "^[a-z0-9][a-z0-9-]*$", 50  # the form of the name of a saved format, and its characters
MAPPING = "The column of a field, by field; for columns that are not recognized."
DETECTED: JsonDict = {  # an example of `detected` of a reply
    "format": "generic",
    "file_type": "csv",
    "encoding": "utf-8",
    "likely_encodings": [],
    "delimiter": ",",
    "header_line": 1,
    "sheet": None,
    "omitted_sheets": [],
    "hidden_sheets": [],
    "merged_cells": [],
    "mapping": {"domain": "Domain"},
    "unmapped_columns": [{"column": "Colour", "did_you_mean": None}],
    "dropped_columns": [],
    "date_order": None,
    "dates_ambiguous": False,
    "decimal_mark": None,
    "numbers_ambiguous": False,
    "time_zones": {},
    "currency_symbols": {},
    "assumed_currency": None,
    "merged_rows": 0,
    "warnings": [],
}
# Of an operation with a TableBody: it also reads the file itself. A workbook is known with any media type.
TEXT_CSV = {
    RAW_MEMBERS: dict.fromkeys(("text/csv", "text/tab-separated-values", "application/octet-stream"), "csv")
}
MAPPING_TEXT = "The column of a field, by field, as a JSON object."
DATE_ORDER = "Order of day and month in numeric dates. `auto`: a date with a number above 12 decides, else `mdy`."
DECIMAL_MARK = "Decimal mark of numbers. `auto`: a number such as 12.50 or 1.499,00 decides."
ENCODING = "Encoding of the file, such as `cp1251`. By default its bytes show it, or `detected` has a warning."
SHEET = "Sheet of a workbook; by default the first visible one with cells."
DELIMITER = "What parts the cells of a text. `auto`: the rows decide."
HEADER_LINE = "Line of the header, from 1; 0 if there is none. By default it is recognized."
DRY_RUN = "Whether to report the effect without any change."


def _keep_bytes(value: Any, read: ValidatorFunctionWrapHandler) -> Any:  # JSON, or the body of a text/csv request
    return value if isinstance(value, bytes) else read(value)


def _known_encoding(name: str) -> str:
    found = find_encoding(name)
    if found is None:
        message = "The encoding is unknown. Known ones: {known}."
        raise PydanticCustomError("encoding_unknown", message, {"known": ", ".join(list_encodings())})
    return found


EncodingName = Annotated[str, StringConstraints(max_length=40), AfterValidator(_known_encoding)]
SheetName = Annotated[str, StringConstraints(min_length=1, max_length=200)]
DomainNames = Annotated[
    list[Annotated[str, StringConstraints(max_length=2_048)]] | None,
    Field(description="Names of domains, in either form."),
]


class TableBody(Body):
    """A table, and how to read it; a subclass names its kind, and can add sources."""

    refuses_similar = True
    kind: ClassVar[TableKind[Any]]

    csv: Annotated[
        Annotated[str, WrapValidator(_keep_bytes)] | None,
        Field(description="A CSV file as text. Send other files as the body itself."),
    ] = None
    rows: Annotated[
        list[dict[str, Any]] | None,
        Field(description="Rows as objects; their members are named as the fields, or as the headers of a file."),
    ] = None
    format: Annotated[str, Field(description=FORMAT, examples=[AUTO])] = AUTO
    mapping: Annotated[dict[str, str], Field(description=MAPPING)] = {}  # noqa: RUF012 - pydantic copies it
    date_order: Annotated[DateNotation, Field(description=DATE_ORDER)] = DateNotation.AUTO
    decimal_mark: Annotated[DecimalNotation, Field(description=DECIMAL_MARK)] = DecimalNotation.AUTO
    encoding: Annotated[EncodingName | None, Field(description=ENCODING)] = None
    sheet: Annotated[SheetName | None, Field(description=SHEET)] = None
    delimiter: Annotated[DelimiterNotation, Field(description=DELIMITER)] = DelimiterNotation.AUTO
    header_line: Annotated[int | None, Field(description=HEADER_LINE, ge=0, le=MAX_HEADER_LINE)] = None
    dry_run: Annotated[bool, Field(description=DRY_RUN)] = False

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Add the names of the formats and of the columns."""
        found = handler(schema)
        members = handler.resolve_ref_schema(found)["properties"]
        # The formats of the service, or a saved one.
        name = cls.kind.name.title()
        known = {"title": f"{name}Format", "type": "string", "enum": [AUTO, *cls.kind.formats]}
        del members["format"]["type"]
        members["format"]["anyOf"] = [known, {"type": "string", "pattern": SAVED, "maxLength": MAX_SAVED}]
        members["mapping"]["propertyNames"] = {"title": f"{name}Column", "enum": [*cls.kind.row.columns]}
        return found

    @model_validator(mode="after")
    def _require_one_source(self) -> Self:
        known = [each for each in SOURCES if each in type(self).model_fields]
        if len([each for each in known if getattr(self, each) is not None]) != 1:
            message = "Send exactly one of {known} and {last}"
            raise PydanticCustomError("source_count", message, {"known": ", ".join(known[:-1]), "last": known[-1]})
        return self

    def with_query(self, query: Mapping[str, Any]) -> Self:
        """Return the body with options of the query in the place of its own. Raise Invalid for unknown names."""
        place = {name: "query" if name in query else "body" for name in ("format", "mapping")}
        more = {**query, "mapping": read_mapping(query["mapping"])} if "mapping" in query else query
        body = self.model_copy(update=more)
        self.kind.get_format(body.format, place=place["format"])
        self.kind.require_columns(body.mapping, place=place["mapping"])
        return body

    def sent_table(self, options: Callable[..., Options], **more: Any) -> SentTable[Options]:
        """Return the table with its options and `more` of them."""
        name = next(each for each in SOURCES if getattr(self, each, None) is not None)
        value = getattr(self, name)
        content = (
            value.encode() if isinstance(value, str) else value if isinstance(value, bytes) else to_json(value)
        )
        return SentTable(
            source=SOURCES[name],
            content=content,
            options=options(
                format=self.format,
                mapping=self.mapping,
                date_order=self.date_order,
                decimal_mark=self.decimal_mark,
                encoding="utf-8" if isinstance(value, str) else self.encoding,  # a text of JSON is decoded
                sheet=self.sheet,
                delimiter=self.delimiter,
                header_line=self.header_line,
                **more,
            ),
        )


def read_mapping(text: str) -> Mapping[str, str]:
    """Return the `mapping` of a query. Raise Invalid."""
    try:
        mapping = from_json(text.encode(), cache_mode="none", catch_duplicate_keys=True)
    except ValueError:
        mapping = None
    if not isinstance(mapping, dict) or not all(isinstance(each, str) for each in mapping.values()):
        message = 'Write a JSON object with each member once, such as {"domain": "Name"}.'
        raise Invalid(("query", "mapping"), message, "mapping_invalid")
    return mapping


@dataclass(kw_only=True)
class TableQuery:
    """The options of the query, for a body that is the file; with JSON they count before its members."""

    format: Annotated[str | None, Query(description=FORMAT)] = None
    mapping: Annotated[str | None, Query(description=MAPPING_TEXT)] = None
    date_order: Annotated[DateNotation | None, Query(description=DATE_ORDER)] = None
    decimal_mark: Annotated[DecimalNotation | None, Query(description=DECIMAL_MARK)] = None
    encoding: Annotated[EncodingName | None, Query(description=ENCODING)] = None
    sheet: Annotated[SheetName | None, Query(description=SHEET)] = None
    delimiter: Annotated[DelimiterNotation | None, Query(description=DELIMITER)] = None
    header_line: Annotated[int | None, Query(description=HEADER_LINE, ge=0, le=MAX_HEADER_LINE)] = None
    dry_run: Annotated[bool | None, Query(description=DRY_RUN)] = None

    def given(self) -> Mapping[str, Any]:
        """Return the options that the request has."""
        return {name: value for name, value in asdict(self).items() if value is not None}
