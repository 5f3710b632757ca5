"""The forms of a sale: its instalments and fees are typed in lines, and an instalment is received later."""

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from builders.console.amounts import as_amount
from builders.console.calls import Api, Call, fill
from builders.console.forms import Sent
from builders.console.portfolio import FINANCE
from builders.kit.errors import Invalid
from builders.kit.sheets.numbers import find_currency
from builders.portfolio.ledger.records import MAX_TERMS

INSTALMENTS, FEES = "sale.installments", "sale.fees"
FEE_KINDS = ("marketplace fee", "escrow fee", "tax", "other cost")
_FEE = re.compile(rf"({'|'.join(FEE_KINDS)}) (.+?)(?: (\d{{4}}-\d\d-\d\d))?", re.IGNORECASE)
_PAYMENT = re.compile(r"(\d{4}-\d\d-\d\d) (.+?)(?: received (\d{4}-\d\d-\d\d))?", re.IGNORECASE)


async def record(api: Api, sent: Sent) -> Any:
    """Return the body that records or changes the sale; a text that the form was shown with changes nothing.

    Raise Invalid.
    """
    before = sent.before()
    given = {name: sent.first(name).strip() for name in sent.fields if name.startswith("sale.")}
    typed = {name: text for name, text in given.items() if text != before.get(name, "").strip()}
    currency = sent.first("currency") or find_currency(sent.first("sale.gross")) or ""
    sale: dict[str, Any] = {}
    for name, text in typed.items():
        member = name.removeprefix("sale.")
        if name in (INSTALMENTS, FEES):
            sale[member] = [each async for each in _list(api, name, text, currency)]
        elif member in {"gross", "commission"} and text:
            sale[member] = await as_amount(api, text, field=name, currency=currency)
        else:
            sale[member] = text or None
    if not sale:
        raise Invalid(("body",), "Nothing was changed: the form had no new value.", "nothing_changed")
    return {"sale": sale}


async def void(_: Api, __: Sent) -> Any:
    """Return the body that voids the sale."""
    return {"sale": None}


async def receive(api: Api, sent: Sent) -> Any:
    """Return the body that says when an instalment was received. Raise Invalid if it is another one by now."""
    answer = await api.send(Call("GET", fill(FINANCE, sent.path_values())))
    sale = answer.body.get("sale") if answer.is_ok else None
    payments = [_payment(each) for each in sale["installments"]] if sale else []
    line = sent.first("line")
    day = sent.first("received_on").strip() or line.partition(" ")[0]
    # The form sent twice: the second one finds what the first one has said.
    lines = (line, f"{line} received {day}")
    at = next((at for at, each in enumerate(payments) if line_of(each) in lines), None)
    if at is None:
        message = "The instalments were changed since you opened the page. Look at them again."
        raise Invalid(("body",), message, "sale_changed")
    payments[at]["received_on"] = day
    return {"sale": {"installments": payments}}


def line_of(payment: Mapping[str, Any]) -> str:
    """Return an instalment as a person types it."""
    amount = f"{payment['amount']['amount']} {payment['amount']['currency']}"
    received = f" received {payment['received_on']}" if payment["received_on"] else ""
    return f"{payment['on']} {amount}{received}"


def _payment(shown: Mapping[str, Any]) -> dict[str, Any]:
    return {name: shown[name] for name in ("amount", "on", "received_on")}


async def _list(api: Api, name: str, text: str, currency: str) -> AsyncIterator[Mapping[str, Any]]:
    """Yield the payments of the lines. Raise Invalid."""
    pattern, example = (
        (_PAYMENT, "2026-12-01 400.00 USD") if name == INSTALMENTS else (_FEE, "escrow fee 25.00 USD")
    )
    for at, (number, line) in enumerate(_lines(text)):
        if at == MAX_TERMS:
            raise Invalid(("body", *name.split(".")), f"Write at most {MAX_TERMS} lines.", "lines_too_many")
        found = pattern.fullmatch(line)
        if found is None:
            message = f"Line {number} is not understood. Write it as: {example}."
            raise Invalid(("body", *name.split(".")), message, "line_invalid")
        first, amount, day = found.groups()
        money = await as_amount(api, amount, field=name, currency=currency)
        if name == INSTALMENTS:
            yield {"on": first, "amount": money, "received_on": day}
        else:
            yield {"kind": first.lower().replace(" ", "_"), "amount": money, "on": day}


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line that is not blank with its number, and one blank between its words: patterns stay linear."""
    return ((number, " ".join(line.split())) for number, line in enumerate(text.splitlines(), 1) if line.strip())
