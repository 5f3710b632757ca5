"""The forms of other files than imports: a dry run shows what a file would do before it is read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, NamedTuple

from builders.console import imports
from builders.console.calls import Api, Call
from builders.console.forms import KEY, Sent, unpack
from builders.console.notices import Notice, Results, Row, count, words
from builders.console.registrars import REGISTRARS
from builders.kit.http.internal_calls import Answer
from builders.kit.sheets.kinds import AUTO, TableKind
from builders.portfolio.billing.charge_imports import CHARGES
from builders.portfolio.domain_files.columns import DOMAINS
from builders.portfolio.parking.revenue_plans import PARKING


class Shown(NamedTuple):
    """A page that follows a form, with what its template shows."""

    values: Mapping[str, Any]
    problem: Mapping[str, Any] | None  # why the file cannot be read as it is


@dataclass(frozen=True, slots=True)
class FileJob:
    """What a file is read into."""

    path: str  # of the operation
    kind: TableKind[Any]
    options: Sequence[str]  # of the operation besides those of each table

    @property
    def columns(self) -> Sequence[tuple[str, str]]:
        """Return the fields that a column can have."""
        return [(each, words(each)) for each in self.kind.row.columns]

    @property
    def formats(self) -> Sequence[str]:
        """Return the known formats of such files."""
        return [AUTO, *self.kind.formats]

    async def preview(self, api: Api, sent: Sent) -> Shown | Answer:
        """Return what the file would do, and its columns; the refusal of what is no table. Raise Invalid."""
        content, query = await unpack(sent), imports.query_of(sent, (*imports.READING, *self.options))
        tried = await api.send(Call("POST", f"{self.path}?{query}&dry_run=true", content=content))
        as_table = Sent({each: sent.fields[each] for each in imports.READING[1:] if each in sent.fields})
        plain = imports.query_of(as_table)
        seen = await api.send(Call("POST", f"{imports.PREVIEW}?{plain}", content=content))
        if not tried.is_ok and not (tried.status == HTTPStatus.UNPROCESSABLE_ENTITY and seen.is_ok):
            return tried
        reply = tried.body if tried.is_ok else None
        detected = tried.body["detected"] if tried.is_ok else seen.body["detected"]
        columns = _columns_of(seen.body if seen.is_ok else None, detected)
        if reply is None:  # what the person has chosen
            chosen = {column: name for name, column in imports.mapping_of(sent).items()}
        else:
            chosen = {column: name for name, column in detected["mapping"].items()}
        values = {"reply": reply, "detected": detected, "columns": columns, "chosen": chosen, "job": self}
        return Shown(values, None if tried.is_ok else _for_people(tried))

    async def start(self, api: Api, sent: Sent) -> Call:
        """Return the call that reads the file, after its mapping is saved if it has a name. Raise Invalid."""
        content = await unpack(sent)
        await imports.save_mapping(api, sent, self.kind.name)
        query = imports.query_of(sent, (*imports.READING, *self.options))
        return Call("POST", f"{self.path}?{query}", content=content, key=sent.first(KEY) or None)


BILL = FileJob(f"{REGISTRARS}/billing/import", CHARGES, ("provider", "currency"))
HOLDINGS = FileJob(
    f"{REGISTRARS}/inventory/import",
    DOMAINS,
    ("provider", "connection", "mode", "add_to_portfolio", "currency"),
)
REVENUE = FileJob("/v1/portfolio/parking/revenue", PARKING, ("provider", "from", "to", "currency"))
JOBS = {"bill": BILL, "holdings": HOLDINGS, "revenue": REVENUE}


def _columns_of(seen: Mapping[str, Any] | None, detected: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the columns with an example; only their names for who may not preview an import."""
    if seen is None:
        names = [*detected["mapping"].values(), *(each["column"] for each in detected["unmapped_columns"])]
        return [{"name": each, "label": each, "example": "", "dropped": False} for each in names]
    rows = [each["cells"] for each in seen["rows"]]
    return [
        {**each, "example": next((cells[at] for cells in rows if cells[at]), "")}
        for at, each in enumerate(seen["columns"])
    ]


def _for_people(refusal: Answer) -> Mapping[str, Any]:
    """Return a problem without the options that it names for programs."""
    detail = [
        {**each, "loc": ("body",), "msg": each["msg"].replace("; or specify it with `mapping`", "")}
        for each in refusal.body["detail"]
    ]
    return {"status": refusal.status, **refusal.body, "detail": detail}


def told(what: str, back: str) -> Callable[[Any], Notice | Results]:
    """Return what tells which rows of a file are read: `what` is the noun of a row."""

    def tell(reply: Mapping[str, Any]) -> Notice | Results:
        summary = reply["summary"]
        done = f"{count(summary['created'] + summary['updated'], what, 'is', 'are')} recorded"
        known = f", {summary['unchanged']:,} known already" if summary["unchanged"] else ""
        more = [f"{count(reply[name], what)} {text}." for name, text in _COUNTS.items() if reply.get(name)]
        undecided = len(reply.get("unmatched", ()))
        more += [f"{count(undecided, what, 'needs', 'need')} a decision."] if undecided else []
        text = " ".join((f"{done}{known}.", *more))
        refused = [
            Row(each["domain"] or f"line {each['line']}", "bad", _reasons(each), f"Correct line {each['line']}.")
            for each in reply["results"]
            if each["errors"]
        ]
        if refused:
            title = f"{done}{known}; {count(len(refused), 'row', 'is', 'are')} refused"
            return Results(title, refused, back)
        return Notice(text, "wait" if undecided or not summary["created"] + summary["updated"] else "good")

    return tell


_COUNTS = {
    "applied": "booked",
    "missing": "of the registrar missing from the list",
    "updated_domains": "of the portfolio changed",
    "added_domains": "added to the portfolio",
}


def _reasons(row: Mapping[str, Any]) -> str:
    named = (f"{each['field']}: " if each["field"] else "" for each in row["errors"])
    return " ".join(f"{name}{each['message']}" for name, each in zip(named, row["errors"], strict=True))
