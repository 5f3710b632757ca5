"""`bld invoices`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from builders_client.cli import output
from builders_client.cli.plans import open_page
from builders_client.cli.state import given, state_of

app = typer.Typer(no_args_is_help=True, help="Read and pay invoices.")
InvoiceId = Annotated[str, typer.Argument(metavar="INVOICE_ID", help="Id of the invoice.")]
COLUMNS: Mapping[str, output.Column] = {
    "ID": "id",
    "NUMBER": "number",
    "STATUS": "status",
    "TOTAL": "total",
    "DUE": "amount_due",
    "UNTIL": lambda each: each["due_at"][:10],
}


@app.command("list")
def list_invoices(
    ctx: typer.Context,
    *,
    status: Annotated[str | None, typer.Option("--status", help="Only invoices with this status.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Print at most this many.")] = None,
) -> None:
    """List the invoices."""
    state = state_of(ctx)
    found = state.items("invoices_list_invoices", limit=limit, query=given(status=status))
    output.show_list(state, found, COLUMNS, empty="There are no such invoices.")


@app.command("show")
def show(ctx: typer.Context, invoice_id: InvoiceId) -> None:
    """Show an invoice."""
    state = state_of(ctx)
    output.show(state, state.call("invoices_get_invoice", path={"invoice_id": invoice_id}))


@app.command("pdf")
def save_pdf(
    ctx: typer.Context,
    invoice_id: InvoiceId,
    *,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File; by default the id with .pdf.")] = None,
) -> None:
    """Save an invoice as a PDF file."""
    state = state_of(ctx)
    file = out or Path(f"{invoice_id}.pdf")
    output.write_file(file, state.send("invoices_get_invoice_pdf", path={"invoice_id": invoice_id}).content)
    output.show(state, {"invoice_id": invoice_id, "file": str(file)})


@app.command("pay")
def pay(ctx: typer.Context, invoice_id: InvoiceId) -> None:
    """Open the page on which a person pays an invoice."""
    state = state_of(ctx)
    found = state.call("invoices_create_checkout", path={"invoice_id": invoice_id})
    open_page(state, found["url"])
    output.show(state, found, ("amount", "url", "expires_at"))
