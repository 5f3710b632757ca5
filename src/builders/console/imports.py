"""The forms of imports: a file is previewed with a mapping of its columns, imported, and undone."""

import json
import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from builders.console.calls import Api, Call, fill
from builders.console.forms import FILE, KEY, Sent, unpack
from builders.console.notices import reason_of
from builders.kit.errors import Invalid
from builders.kit.sheets.bodies import SAVED
from builders.kit.sheets.encodings import list_encodings
from builders.kit.sheets.kinds import AUTO
from builders.kit.sheets.sources import DateNotation, DecimalNotation
from builders.portfolio.domain_files.columns import DOMAINS

IMPORT, IMPORTS = "/v1/portfolio/import", "/v1/portfolio/imports"
PREVIEW, FORMATS = f"{IMPORT}/preview", "/v1/portfolio/formats"
FORMAT = f"{FORMATS}/any"  # by which the operation is found; `delete_format` has the name
UNDO = f"{IMPORTS}/{{import_id}}/undo"
COLUMN_FIELDS = list(DOMAINS.row.columns)
FILE_FORMATS = [AUTO, *DOMAINS.formats]
DATE_ORDERS, DECIMAL_MARKS = list(DateNotation), list(DecimalNotation)
ENCODINGS = list_encodings()
_SAVED = ("date_order", "decimal_mark", "encoding")  # with the mapping of a sheet
READING = ("format", *_SAVED, "sheet", "delimiter", "header_line")  # options of each table
_OPTIONS = ("on_conflict", "registrar", "currency")
NAMES = "names"  # a field with names of domains instead of a file
_BETWEEN_NAMES = re.compile(r"[\s,;]+")
_COLUMN, _FIELD = "column.", "field."  # before the number of a column: its name, and the chosen field


async def preview(_: Api, sent: Sent) -> Call:
    """Return the call that previews a file, or names that a person has pasted. Raise Invalid."""
    return Call("POST", f"{PREVIEW}?{query_of(sent)}", content=await _content(sent))


async def start(api: Api, sent: Sent) -> Call:
    """Return the call that imports a file, after its mapping is saved if it has a name. Raise Invalid."""
    content = await _content(sent)
    await save_mapping(api, sent, DOMAINS.name)
    return Call("POST", f"{IMPORT}?{query_of(sent)}", content=content, key=sent.first(KEY) or None)


async def _content(sent: Sent) -> bytes:
    """Return the file of a form, else a file of the names that a person has pasted. Raise Invalid."""
    names = _BETWEEN_NAMES.split(sent.first(NAMES).strip())
    return await unpack(sent) if any(sent.fields.get(FILE, ())) or not any(names) else "\n".join(names).encode()


async def save_mapping(api: Api, sent: Sent, kind: str) -> None:
    """Save the mapping of the form if it has a name. Raise Invalid."""
    name = sent.first("save_as").strip()
    if not name:
        return
    options = {each: sent.first(each) for each in _SAVED if sent.first(each)}
    answer = await api.send(Call("PUT", _saved(name), {"kind": kind, "mapping": mapping_of(sent), **options}))
    if not answer.is_ok:
        message = f"The mapping is not saved: {reason_of(answer.body)}"
        raise Invalid(("body", "save_as"), message, "mapping_unsaved")


async def check_undo(_: Api, sent: Sent) -> Call:
    """Return the call of a dry run of an undo, or of the next part of one."""
    query = {"dry_run": "true", **({"before_row": sent.first("before_row")} if sent.first("before_row") else {})}
    return Call("POST", f"{fill(UNDO, sent.path_values())}?{urlencode(query)}")


async def delete_format(_: Api, sent: Sent) -> Call:
    """Return the call that deletes a saved mapping."""
    return Call("DELETE", _saved(sent.first("name")))


def _saved(name: str) -> str:
    """Return the address of a saved mapping. Raise Invalid for a name that could be another path."""
    if not re.fullmatch(SAVED, name):
        message = "Write lower-case letters, digits and hyphens."
        raise Invalid(("body", "save_as"), message, "name_invalid")
    return f"{FORMATS}/{name}"


def query_of(sent: Sent, options: Sequence[str] = (*READING, *_OPTIONS)) -> str:
    """Return the query with these options of a form, and its mapping. Raise Invalid."""
    given = {name: sent.first(name).strip() for name in options}
    mapping = mapping_of(sent)
    query = {name: value for name, value in given.items() if value}
    return urlencode(query | ({"mapping": json.dumps(mapping)} if mapping else {}))


def mapping_of(sent: Sent) -> Mapping[str, str]:
    """Return the column of each chosen field. Raise Invalid when two columns have the same."""
    mapping: dict[str, str] = {}
    for name, values in sent.fields.items():
        chosen = values[0]
        if name.startswith(_FIELD) and chosen:
            if chosen in mapping:
                message = f"Choose one column for {chosen.replace('_', ' ')}."
                raise Invalid(("body", "mapping"), message, "mapping_invalid")
            mapping[chosen] = sent.first(f"{_COLUMN}{name.removeprefix(_FIELD)}")
    return mapping
