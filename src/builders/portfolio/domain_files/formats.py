"""Known kinds of files, and which field each column of a file holds. The formats are data: `formats/*.toml`."""

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from difflib import get_close_matches
from importlib.resources import files
from typing import Any

from builders.kit.sheets.csv_files import MAX_COLUMNS, normalize_header
from builders.kit.sheets.dates import DateFormat
from builders.kit.values import texts
from builders.portfolio.domain_files.errors import FileRefused
from builders.portfolio.domain_files.records import AUTO, ColumnMap, Field, ImportFormat, UnmappedColumn

GENERIC = ImportFormat(
    id="generic", title="Hand-made sheets", requires=frozenset(), columns={}, ignores=frozenset()
)
_GROUPS = ("registrars", "marketplaces", "programs")
_CLOSE = 0.8  # similarity of a header that is suggested
_MAX_LABEL = 500  # characters of a header in a reply
_MAX_SUGGESTED = 40  # characters of a header for which a field is suggested
_MAX_SUGGESTIONS = 20  # headers of a file for which a field is suggested


def _read(name: str) -> Mapping[str, Any]:  # TOML
    return tomllib.loads(
        files("builders.portfolio.domain_files").joinpath("formats", f"{name}.toml").read_text(encoding="utf-8")
    )


def _format(name: str, table: Mapping[str, Any]) -> ImportFormat:
    date_format = table.get("date_format")
    return ImportFormat(
        id=name,
        title=table["title"],
        requires=frozenset(table["requires"]),
        columns={Field(each): headers for each, headers in table["columns"].items()},
        ignores=frozenset(table["ignores"]),
        registrar=table.get("registrar"),
        currency=table.get("currency"),
        date_format=None if date_format is None else DateFormat(date_format),
        zero_is_blank=table.get("zero_is_blank", False),
        is_exact=table.get("is_exact", False),
    )


FORMATS: Mapping[str, ImportFormat] = {
    **{name: _format(name, table) for group in _GROUPS for name, table in _read(group).items()},
    GENERIC.id: GENERIC,
}
_GENERIC = _read("generic")
_SECRETS, _PERSONAL = _GENERIC["secrets"], _GENERIC["personal"]
# By meaning, the words that mean it besides its own name.
STATUSES: Mapping[str, Sequence[str]] = _GENERIC["statuses"]
PURCHASE_KINDS: Mapping[str, Sequence[str]] = _GENERIC["purchase_kinds"]


def _field_headers() -> Mapping[str, Field]:
    own = {normalize_header(each): each for each in Field}
    synonyms = {header: Field(name) for name, headers in _GENERIC["synonyms"].items() for header in headers}
    return synonyms | own


FIELD_HEADERS = _field_headers()
_KNOWN = frozenset(FIELD_HEADERS) | {
    header.partition("#")[0]
    for each in FORMATS.values()
    for headers in (each.requires, *each.columns.values())
    for header in headers
}
_KEYS = frozenset(("domain", "domains", "domain name", "domain names", "fqdn"))


def is_header(text: str, mapping: Iterable[str] = ()) -> bool:
    """Return whether a normalized cell is a known header, or one of the headers of a mapping."""
    return text in _KNOWN or text in mapping


def is_key_header(text: str, mapping: Iterable[str] = ()) -> bool:
    """Return whether a normalized cell alone shows that its row is the header."""
    return text in _KEYS or text in mapping


def recognize(header: Sequence[str]) -> ImportFormat:
    """Return the most specific format whose required headers are all there, `generic` if none is."""
    present = {normalize_header(each) for each in header}
    found = [each for each in FORMATS.values() if each.requires <= present]
    return max(found, key=lambda each: len(each.requires))


def find_format(name: str, header: Sequence[str]) -> ImportFormat:
    """Return the format of a name, or the one that is recognized for `auto`. Raise FileRefused.

    Refuse too many columns before anything is computed for each of them.
    """
    if len(header) > MAX_COLUMNS:
        message = f"{len(header):,} columns. A file has at most {MAX_COLUMNS}."
        raise FileRefused("too_many_columns", message)
    if name == AUTO:
        return recognize(header)
    if name not in FORMATS:
        known = ", ".join([AUTO, *FORMATS])
        raise FileRefused(
            "format_unknown", f"There is no format {name!r}. Write one of: {known}.", member=("format",)
        )
    return FORMATS[name]


def map_columns(header: Sequence[str], form: ImportFormat, mapping: Mapping[Field, str]) -> ColumnMap:
    """Return which columns hold which field: by the mapping, by the format, and by synonyms for the others.

    Raise FileRefused for a mapping to a column that is not there, and without a column for the domain.
    """
    keys = _numbered([normalize_header(each) for each in header])
    labels = _labels(header)
    at = {key: position for position, key in reversed(list(enumerate(keys)))}
    dropped = [position for position, key in enumerate(keys) if _is_private(key)]
    columns: dict[Field, list[int]] = {name: [_mapped(at, name, theirs)] for name, theirs in mapping.items()}
    for name, headers in form.columns.items():
        columns.setdefault(name, [at[each] for each in headers if each in at])
    taken = {position for positions in columns.values() for position in positions}
    unmapped = list[UnmappedColumn]()
    for position, key in enumerate(keys):
        if position in taken or position in dropped or not key or key in form.ignores:
            continue
        meant = FIELD_HEADERS.get(key.partition("#")[0])
        if meant is None:
            unmapped.append(
                UnmappedColumn(
                    column=labels[position],
                    did_you_mean=_suggest(key) if len(unmapped) < _MAX_SUGGESTIONS else None,
                )
            )
        elif not columns.get(meant) or meant not in {*form.columns, *mapping}:
            found = columns.setdefault(meant, [])
            found.insert(0 if key == normalize_header(meant) else len(found), position)
    columns = {name: positions for name, positions in columns.items() if positions}
    if Field.DOMAIN not in columns:
        raise FileRefused(
            "domain_column_missing",
            "No column has the domain. Name the column `domain`, or specify it with `mapping`.",
            member=("mapping",),
        )
    private = [
        position for position in dropped if position not in {each for mine in columns.values() for each in mine}
    ]
    return ColumnMap(
        columns=columns, labels=labels, unmapped=unmapped, dropped=[labels[position] for position in private]
    )


def _mapped(at: Mapping[str, int], name: Field, theirs: str) -> int:
    base, mark, number = theirs.rpartition("#")
    key = f"{normalize_header(base)}#{number}" if mark and number.isdecimal() else normalize_header(theirs)
    found = at.get(key.removesuffix("#1"))
    if found is None:
        raise FileRefused("mapping_invalid", f"The file has no column {theirs!r}.", member=("mapping", name))
    return found


def _numbered(keys: Sequence[str]) -> Sequence[str]:
    """Return the headers, the second one of the same words with #2 after it, and so on."""
    seen = dict[str, int]()
    numbered = list[str]()
    for key in keys:
        seen[key] = seen.get(key, 0) + 1
        numbered.append(key if seen[key] == 1 else f"{key}#{seen[key]}")
    return numbered


def _labels(header: Sequence[str]) -> Sequence[str]:
    shown = [texts.printable(each[:_MAX_LABEL]) for each in header]
    counts = Counter(shown)
    return [
        each if each and counts[each] == 1 else f"{each} (column {at})".strip()
        for at, each in enumerate(shown, start=1)
    ]


def _is_private(key: str) -> bool:
    return any(
        key in kind["exact"] or key.startswith(tuple(kind["beginning"])) or key.endswith(tuple(kind["ending"]))
        for kind in (_SECRETS, _PERSONAL)
    )


def _suggest(key: str) -> Field | None:
    found = get_close_matches(key[:_MAX_SUGGESTED], FIELD_HEADERS, n=1, cutoff=_CLOSE)
    return FIELD_HEADERS[found[0]] if found else None


def words_of(meanings: Mapping[str, Sequence[str]]) -> Mapping[str, str]:
    """Return the meaning of each word, its own name included."""
    return {word: name for name, words in meanings.items() for word in (name, name.replace("_", " "), *words)}


def list_ids() -> AbstractSet[str]:
    """Return what `format` can be."""
    return {AUTO, *FORMATS}
