"""An invoice as a page, for browsers and printers, and as a PDF."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from builders.invoices import pdf, sheet
from builders.invoices.records import Invoice

_jinja = Environment(
    loader=PackageLoader("builders.invoices"),
    autoescape=select_autoescape(),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_page = _jinja.get_template("invoice.html")
# Of its own, one at a time: many at once would take the processor, and the threads that look up names.
_writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="invoice-pdf")


def write_html(invoice: Invoice, *, can_pay: bool) -> str:
    """The invoice as a page that prints well, with a button to pay it by; everything in it is escaped."""
    return _page.render(sheet=sheet.describe(invoice), path=f"/v1/invoices/{invoice.id}", can_pay=can_pay)


async def render_pdf(invoice: Invoice, *, font: Path | None) -> bytes:
    """The invoice as a PDF; a thread writes it, since two thousand lines take a second."""
    described = sheet.describe(invoice)
    return await asyncio.get_running_loop().run_in_executor(_writer, lambda: pdf.write(described, font=font))
