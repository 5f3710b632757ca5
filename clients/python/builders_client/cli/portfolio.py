"""`bld portfolio`: import, renewals, finance, comparison with registrars, export, report."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from builders_client.cli import output, texts
from builders_client.cli.faults import FAILED, USAGE, Fault
from builders_client.cli.state import State, given, state_of

app = typer.Typer(no_args_is_help=True, help="Run a portfolio of domains.")
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Print at most this many.")]
DateOrder = Annotated[str | None, typer.Option("--date-order", help="Order of day and month: dmy, mdy.")]
DecimalMark = Annotated[str | None, typer.Option("--decimal-mark", help="Decimal mark of numbers: point, comma.")]
Encoding = Annotated[
    str | None, typer.Option("--encoding", help="Encoding of the file, such as cp1251; else it is detected.")
]
Sheet = Annotated[str | None, typer.Option("--sheet", help="Sheet of a workbook; else the first visible one.")]
Delimiter = Annotated[
    str | None, typer.Option("--delimiter", help="What parts the cells: comma, semicolon, tab, bar.")
]
HeaderLine = Annotated[int | None, typer.Option("--header-line", help="Line of the header; 0 if there is none.")]
Currency = Annotated[str | None, typer.Option("--currency", help="Currency of amounts without one, such as EUR.")]
Tag = Annotated[str | None, typer.Option("--tag", help="Only domains with this tag.")]
RENEWALS: Mapping[str, output.Column] = {
    "DOMAIN": "domain_unicode",
    "EXPIRES": lambda each: (each["expires_at"] or "")[:10],
    "DAYS": "days_left",
    "REGISTRAR": "registrar",
    "AUTO": "auto_renew",
    "PRICE": "renewal_price",
    "DECISION": "decision",
}
FINDINGS: Mapping[str, output.Column] = {
    "SEVERITY": "severity",
    "CATEGORY": "category",
    "DOMAIN": "domain",
    "WHAT": "message",
}
_RUNNING = frozenset({"queued", "running", "undoing"})
_ERRORS_SHOWN = 20
_POLL_S = 1.0
_OF_TABLES = frozenset({"currency", "sheet", "delimiter", "header_line"})  # options that a text with names lacks


@app.command("import")
def import_domains(
    ctx: typer.Context,
    file: Annotated[
        Path, typer.Argument(help="A CSV file, a workbook, or a text with names of domains; - reads the input.")
    ],
    *,
    as_text: Annotated[bool, typer.Option("--text", help="The file is a text with names of domains.")] = False,
    format_: Annotated[
        str | None, typer.Option("--format", help="Format of the table; else it is recognized.")
    ] = None,
    on_conflict: Annotated[
        str | None, typer.Option("--on-conflict", help="For domains that exist: merge, overwrite or skip.")
    ] = None,
    date_order: DateOrder = None,
    decimal_mark: DecimalMark = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    delimiter: Delimiter = None,
    header_line: HeaderLine = None,
    currency: Currency = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Report the effect without any change.")] = False,
) -> None:
    """Import domains; show what was refused, and how unclear cells were read. It waits until all rows are done."""
    state = state_of(ctx)
    content = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    options = given(
        format=format_,
        on_conflict=on_conflict,
        date_order=date_order,
        decimal_mark=decimal_mark,
        encoding=encoding,
        sheet=sheet,
        delimiter=delimiter,
        header_line=header_line,
        currency=currency,
        dry_run=dry_run or None,
    )
    done = _finish(state, _import(state, content, options, file=file, as_text=as_text))
    if state.is_json:
        output.print_json(state, done)
    else:
        output.show(state, {**done, **done["summary"]}, ("import_id", "state", "undo_until", *done["summary"]))
        if done["dry_run"]:
            texts.note("Nothing was changed. Next: the same command without --dry-run.")
    _show_warnings(done)
    _check_import(done)


def _show_warnings(done: Mapping[str, Any]) -> None:
    """Tell what the file does not show and how it was read, and the warnings of its first rows."""
    of_file = [each["message"] for each in (done["detected"] or {}).get("warnings", ())]
    of_rows = [
        f"line {each['line']}, {each['domain']}: {one['message']}"
        for each in done["results"]
        for one in each["warnings"]
    ]
    more = [f"and {len(of_rows) - _ERRORS_SHOWN} more"] if len(of_rows) > _ERRORS_SHOWN else []
    for each in (*of_file, *of_rows[:_ERRORS_SHOWN], *more):
        texts.note(f"Warning: {each}")


def _import(state: State, content: bytes, options: dict[str, Any], *, file: Path, as_text: bool) -> Any:
    """Begin an import. The service recognizes the encoding of a table; a text is JSON, which is UTF-8."""
    if not as_text:
        from builders_client.values import Upload

        return state.call("portfolio_import_portfolio", body=Upload(content), query=options)
    encoding = options.pop("encoding", None)
    try:
        text = content.decode(encoding or "utf-8-sig")
    except (UnicodeError, LookupError) as error:
        raise Fault(
            f"{file} is not {encoding or 'UTF-8'}.",
            next_action="Save it as UTF-8, or name its encoding with --encoding.",
            code=USAGE,
        ) from error
    options = {name: each for name, each in options.items() if name not in _OF_TABLES}
    return state.call("portfolio_import_portfolio", body={"text": text, **options})


def _finish(state: State, found: Any) -> Any:
    """Return the import when it has ended; a person sees its progress."""
    with _progress(state, found["rows_total"]) as advance:
        while found["state"] in _RUNNING:
            advance(found["rows_done"])
            state.sleep(_POLL_S)
            found = state.call("portfolio_get_portfolio_import", path={"import_id": found["import_id"]})
    return found


class _progress:  # noqa: N801 - used as a function
    """A bar on the terminal of a person."""

    def __init__(self, state: State, total: int | None) -> None:
        self._bar: Any = None
        if sys.stderr.isatty() and not state.is_json:
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("Importing", total=total)

    def __enter__(self) -> Any:
        if self._bar is not None:
            self._bar.start()
        return self._advance

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _advance(self, done: int) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=done)


def _check_import(done: Mapping[str, Any]) -> None:
    refused = [
        f"line {each['line']}, {each['domain']}: {'; '.join(one['message'] for one in each['errors'])}"
        for each in done["results"]
        if each["errors"]
    ]
    if failure := done["failure"]:
        refused.insert(0, str(failure["message"]))
    count = done["summary"]["errors"]
    if refused or count or done["state"] == "failed":
        more = [f"and {count - _ERRORS_SHOWN} more"] if count > _ERRORS_SHOWN else []
        raise Fault(
            "\n".join([*refused[:_ERRORS_SHOWN], *more]) or "The import failed.",
            next_action="Correct these rows, then import the file again: the others stay as they are.",
            code=FAILED,
        )


@app.command("renewals")
def list_renewals(
    ctx: typer.Context,
    *,
    within_days: Annotated[
        int | None, typer.Option("--within", min=1, max=365, help="Domains that expire in these days.")
    ] = None,
    tag: Tag = None,
    limit: Limit = None,
) -> None:
    """List the domains that expire soon, with prices and decisions."""
    state = state_of(ctx)
    query = given(within_days=within_days, tag=tag)
    found = state.items("portfolio_list_renewals", limit=limit, query=query)
    output.show_list(state, found, RENEWALS, empty="Nothing expires then. Next: --within 90 looks further ahead.")


@app.command("finance")
def show_finance(
    ctx: typer.Context,
    domain: Annotated[str, typer.Argument(help="The domain, or its id in the portfolio.")],
    *,
    year: Annotated[int | None, typer.Option("--year", help="Only this year.")] = None,
) -> None:
    """Show what a domain cost and earned."""
    state = state_of(ctx)
    found = state.call(
        "portfolio_get_domain_finance", path={"domain_id": _domain_id(state, domain)}, query=given(year=year)
    )
    members = (
        *("domain", "status", "asking_price", "estimated_value", "cost_basis", "carrying_cost", "total_cost"),
        *("refunds", "realized_profit", "unrealized_profit", "net_position", "roi", "breakeven_price", "as_of"),
    )
    if not state.is_json and found["roi"] is not None:
        found["roi"] = f"{100 * found['roi']:.1f} %"
    output.show(state, found, members)


def _domain_id(state: State, domain: str) -> str:
    """Return the id of a domain of the portfolio. Raise Fault."""
    if "." not in domain:
        return domain
    wanted = domain.strip().lower()
    for each in state.items("portfolio_list_domains", query={"q": wanted}):
        if wanted in {each["domain"], each.get("domain_unicode")}:
            return str(each["id"])
    raise Fault(f"The portfolio has no {domain}.", next_action="bld portfolio import FILE adds domains.")


@app.command("reconcile")
def reconcile(
    ctx: typer.Context,
    *,
    provider: Annotated[str | None, typer.Option("--provider", help="Only this registrar.")] = None,
    min_severity: Annotated[str | None, typer.Option("--min-severity", help="Only from this severity on.")] = None,
    limit: Limit = None,
) -> None:
    """Compare the portfolio with your registrars. Nothing is changed."""
    state = state_of(ctx)
    query = given(provider=provider, min_severity=min_severity)
    output.show_list(state, _findings(state, query, limit), FINDINGS, empty="There are no differences.")


def _findings(state: State, query: dict[str, Any], limit: int | None) -> Iterator[Any]:
    count = 0
    while True:
        page = state.call("portfolio_reconcile_registrars", query=query)
        for each in page["findings"]:
            if count == limit:
                return
            count += 1
            yield each
        if page["next_cursor"] is None:
            return
        query = {**query, "cursor": page["next_cursor"]}


@app.command("export")
def export(
    ctx: typer.Context,
    *,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File; else the standard output.")] = None,
    tag: Tag = None,
) -> None:
    """Export the portfolio as CSV, or as JSON with --json."""
    state = state_of(ctx)
    query = given(tag=tag)
    if state.is_json:
        output.print_json(state, state.call("portfolio_export_portfolio", query=query))
        return
    reply = state.send("portfolio_export_portfolio_csv", query=query)
    if out is None:
        output.print_file(reply.content, reply.content_type)
    else:
        output.write_file(out, reply.content)
        texts.note(f"Written: {out}")


@app.command("report")
def report(
    ctx: typer.Context,
    *,
    year: Annotated[int | None, typer.Option("--year", help="Only this year.")] = None,
    tag: Tag = None,
) -> None:
    """Show income and costs of the portfolio and of each month."""
    state = state_of(ctx)
    found = state.call("portfolio_get_portfolio_summary", query=given(year=year, tag=tag))
    if state.is_json:
        output.print_json(state, found)
        return
    totals, months = found["totals"], found["months"]
    # An entry without an exchange rate is missing in the amounts.
    names = [name for name in totals if name != "unconverted" or totals[name]]
    output.show(state, {**found, **totals}, ("since", "until", "domains", *names))
    typer.echo()
    titles: Mapping[str, output.Column] = {name.upper(): name for name in ("month", *names)}
    output.show_list(
        state, months, titles, empty="There are no entries. Next: bld portfolio import FILE adds them."
    )
