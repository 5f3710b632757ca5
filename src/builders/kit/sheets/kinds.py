"""Kinds of tables: their columns, and which column of a table has which of them."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Field

from builders.kit.errors import Invalid
from builders.kit.sheets.columns import Column, Row
from builders.kit.sheets.csv_files import normalize_header, part_unit
from builders.kit.sheets.formats import Format, normalize_numbered, read_format
from builders.kit.sheets.numbers import find_currency
from builders.kit.values import texts
from builders.kit.values.suggestions import find_similar

AUTO = "auto"  # the format is found by the header
GENERIC = "generic"
_PLAIN_KEY = re.compile(r"[a-z0-9.-]+")
_CLOSE = 0.8  # similarity of a header that is suggested
MAX_LABEL = 500  # characters of a header in a reply
_MAX_SUGGESTED = 40  # characters of a header for which a column is suggested
_MAX_SUGGESTIONS = 20  # headers of a table for which a column is suggested
_PRIVATE = tomllib.loads(files("builders.kit.sheets").joinpath("private_headers.toml").read_text(encoding="utf-8"))
_KINDS: dict[str, "TableKind[Any]"] = {}
R = TypeVar("R", bound=Row)


def list_kinds() -> Sequence["TableKind[Any]"]:
    """Return all kinds of tables by name."""
    return [_KINDS[name] for name in sorted(_KINDS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmappedColumn:
    """A column that was not recognized; name it with `mapping`."""

    column: Annotated[str, Field(description="Header of the column.")]
    did_you_mean: Annotated[
        str | None, Field(description="The column with the closest name; null when none is close.")
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMap:
    """Which columns of a table hold which column of its kind."""

    positions: Mapping[str, Sequence[int]]  # the preferred one first
    labels: Sequence[str]  # of all columns, as messages name them
    unmapped: Sequence[UnmappedColumn]
    dropped: Sequence[str]  # labels of columns with secrets or personal data
    units: Mapping[str, str]  # by column: the currency in its header


@dataclass(frozen=True, kw_only=True)
class TableKind(Generic[R]):
    """A kind of table.

    Its formats are the files `formats/*.toml` of its package; `headers.toml` has headers in other languages.
    """

    name: str
    row: type[R]
    path: str | None = None  # of the operation that imports it
    package: str | None = None  # None: it has no formats, and no headers of its own in other languages
    needs: Sequence[Sequence[str]] = ()  # of each of these a table has a column, besides the required ones
    multiline: AbstractSet[str] | None = None  # columns whose cells can have several lines; None: all
    key: str | None = None  # the column of a table that has a single one, with or without a header
    has_totals: bool = False  # rows that begin with a word such as "Total" are sums of others
    requires_date_order: bool = False  # a table whose dates have two meanings is refused
    merges_rows: bool = False  # rows with the same key are merged

    def __post_init__(self) -> None:
        """Add the kind to `list_kinds`."""
        _KINDS[self.name] = self

    @cached_property
    def formats(self) -> Mapping[str, Format]:
        """Return the formats by their ids; first that of tables made by hand."""
        found = {GENERIC: Format(id=GENERIC)}
        folder = None if self.package is None else files(self.package).joinpath("formats")
        for each in sorted(() if folder is None else folder.iterdir(), key=lambda each: each.name):
            name = each.name.removesuffix(".toml")
            found[name] = read_format(name, tomllib.loads(each.read_text(encoding="utf-8")))
        return found

    @cached_property
    def _by_header(self) -> Mapping[str, Column[Any]]:
        """Return the columns by the headers that mean them; the own names come before others."""
        columns = self.row.columns.values()
        translated = {
            normalize_header(header): self.row.columns[name]
            for package in (__package__, self.package)
            for name, headers in _read_headers(package)
            if name in self.row.columns
            for header in headers
        }
        synonyms = {header: each for each in columns for header in each.headers}
        known = translated | synonyms | {each.headers[0]: each for each in columns}
        joined = {header.replace(" ", ""): each for header, each in known.items()}  # as in expiryDate
        return joined | known

    @cached_property
    def _known(self) -> AbstractSet[str]:
        named = (headers for each in self.formats.values() for headers in (each.requires, *each.columns.values()))
        return frozenset(self._by_header) | {header.partition("#")[0] for headers in named for header in headers}

    def is_header(self, text: str, mapping: Iterable[str] = ()) -> bool:
        """Return whether a normalized cell is a known header, or one of the headers of a mapping."""
        return text in self._known or text in mapping

    def is_key_value(self, cell: str) -> bool:
        """Return whether a cell is a value of the key."""
        return self.key is not None and self.row.columns[self.key].find_value(cell) is not None

    def normalize_key(self, cell: str) -> str:
        """Return the value of the key in a cell, such as the A-label of a domain; the text if it is none."""
        text = cell.lower().rstrip(".")
        if self.key is None or _PLAIN_KEY.fullmatch(text):
            return text
        return str(self.row.columns[self.key].find_value(cell) or text)

    def is_key_header(self, text: str, mapping: Iterable[str] = ()) -> bool:
        """Return whether a normalized cell alone shows that its row is the header."""
        found = self._by_header.get(text)
        return text in mapping or (found is not None and found.name == self.key)

    def get_format(self, name: str, header: Sequence[str] = (), *, place: str = "body") -> Format:
        """Return a format; for `auto` the most specific one whose required headers are all there.

        Raise Invalid.
        """
        if name == AUTO:
            present = {normalize_header(form) for each in header for form in (each, part_unit(each)[0])}
            return max(
                (each for each in self.formats.values() if each.requires <= present and not each.by_name),
                key=lambda each: len(each.requires),
            )
        if name not in self.formats:
            message = f"Input should be one of: {', '.join([AUTO, *self.formats])}"
            raise Invalid((place, "format"), message, "format_unknown")
        return self.formats[name]

    def require_columns(self, names: Iterable[str], *, place: str = "body") -> None:
        """Raise Invalid for a mapping with a name that no column has."""
        for each in names:
            if each not in self.row.columns:
                meant = find_similar(each[:_MAX_SUGGESTED], self.row.columns)
                hint = f" Did you mean {meant}?" if meant else ""
                message = f"{each[:MAX_LABEL]!r} is not a known column.{hint}"
                raise Invalid((place, "mapping", each[:MAX_LABEL]), message, "column_unknown")

    def map_columns(self, header: Sequence[str], form: Format, mapping: Mapping[str, str]) -> ColumnMap:
        """Return which columns hold what: by the mapping, by the format, and by their headers for the others.

        Raise Invalid for a mapping to a missing column, and without a needed column.
        """
        whole, labels = _numbered([normalize_header(each) for each in header]), _labels(header)
        keys = self._known_keys(whole, header, form)
        at = {key: position for position, key in reversed([*enumerate(keys), *enumerate(whole)])}
        dropped = [at for at, key in enumerate(whole) if _is_private(key) or _is_private(keys[at])]
        candidates: dict[str, list[int]] = {name: [_mapped(at, name, theirs)] for name, theirs in mapping.items()}
        for name, headers in form.columns.items():
            candidates.setdefault(name, [at[each] for each in headers if each in at])
        named = {name for name, positions in candidates.items() if positions}
        taken = {position for positions in candidates.values() for position in positions}
        unmapped = list[UnmappedColumn]()
        for position, key in enumerate(keys):
            if position in taken or position in dropped or not key or key in form.ignores:
                continue
            meant = self._by_header.get(key.partition("#")[0])
            if meant is None:
                suggested = self._suggest(key) if len(unmapped) < _MAX_SUGGESTIONS else None
                unmapped.append(UnmappedColumn(column=labels[position], did_you_mean=suggested))
            elif meant.name not in named:
                candidates.setdefault(meant.name, []).append(position)
        for name in candidates.keys() - named:
            ranks = {header: rank for rank, header in reversed([*enumerate(self.row.columns[name].headers)])}
            candidates[name].sort(key=lambda position: ranks.get(keys[position].partition("#")[0], len(ranks)))
        units = [find_currency(part_unit(each)[1]) for each in header]
        positions = dict[str, Sequence[int]]()
        for name, each in candidates.items():
            same = [position for position in each if units[position] == units[each[0]]]
            others = [position for position in each if position not in same]  # amounts in another currency
            unmapped += [UnmappedColumn(column=labels[position], did_you_mean=None) for position in others]
            positions |= {name: same} if same else {}
        self._require_needed(positions)
        used = {position for each in positions.values() for position in each}
        private = [labels[position] for position in dropped if position not in used]
        return ColumnMap(
            positions=positions,
            labels=labels,
            unmapped=unmapped,
            dropped=private,
            units={name: unit for name, each in positions.items() if (unit := units[each[0]]) is not None},
        )

    def name_columns(self, header: Sequence[str]) -> ColumnMap:
        """Return the labels of columns that are not mapped yet, and which of them are never stored."""
        labels = _labels(header)
        private = [labels[at] for at, each in enumerate(header) if _is_private(normalize_header(each))]
        return ColumnMap(positions={}, labels=labels, unmapped=(), dropped=private, units={})

    def _known_keys(self, whole: Sequence[str], header: Sequence[str], form: Format) -> Sequence[str]:
        """Return the headers with their units where the kind or the format knows them so, the others without."""
        known = {*form.ignores, *(each for headers in form.columns.values() for each in headers), *self._by_header}
        keys = [
            key.partition("#")[0] if key in known else normalize_header(part_unit(each)[0])
            for key, each in zip(whole, header, strict=True)
        ]
        return _numbered(keys)

    def _require_needed(self, positions: Mapping[str, Sequence[int]]) -> None:
        required = [(name,) for name, each in self.row.columns.items() if each.required]
        for names in (*required, *self.needs):
            if not any(each in positions for each in names):
                known = dict.fromkeys(header for each in names for header in self.row.columns[each].headers)
                message = f"No column has the {' or the '.join(names)}. Name it one of: {', '.join(known)}; "
                raise Invalid(("body", "mapping"), f"{message}or specify it with `mapping`.", "column_missing")

    def _suggest(self, key: str) -> str | None:
        close = find_similar(key[:_MAX_SUGGESTED], self._by_header, cutoff=_CLOSE)
        return self._by_header[close].name if close else None


def _read_headers(package: str | None) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the columns of a package with the headers that mean them in a language."""
    file = None if package is None else files(package).joinpath("headers.toml")
    if file is not None and file.is_file():
        for columns in tomllib.loads(file.read_text(encoding="utf-8")).values():
            yield from columns.items()


def _mapped(at: Mapping[str, int], name: str, theirs: str) -> int:
    found = at.get(normalize_numbered(theirs))
    if found is None:
        message = f"The table has no column {theirs[:MAX_LABEL]!r}."
        raise Invalid(("body", "mapping", name), message, "mapping_invalid")
    return found


def _numbered(keys: Sequence[str]) -> Sequence[str]:
    """Return the headers, the second one of the same words with #2 after it, and so on."""
    seen = Counter[str]()
    numbered = list[str]()
    for key in keys:
        seen[key] += 1
        numbered.append(key if seen[key] == 1 else f"{key}#{seen[key]}")
    return numbered


def _labels(header: Sequence[str]) -> Sequence[str]:
    shown = [texts.printable(each[:MAX_LABEL]) for each in header]
    counts = Counter(shown)
    return [
        each if each and counts[each] == 1 else f"{each} (column {at})".strip()
        for at, each in enumerate(shown, start=1)
    ]


def _is_private(key: str) -> bool:
    return (
        key in _PRIVATE["exact"]
        or key.startswith(tuple(_PRIVATE["beginning"]))
        or key.endswith(tuple(_PRIVATE["ending"]))
    )
