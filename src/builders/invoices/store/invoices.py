"""Invoices with their lines, their numbers and the changes of their status, and charges: lines for names."""

from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from builders.invoices.records import (
    Buyer,
    Charge,
    Invoice,
    InvoiceStatus,
    Line,
    NewInvoice,
    Seller,
    Stage,
    Totals,
    VoidReason,
)
from builders.kit.db.connections import Conn
from builders.kit.db.queries import due_rows, newest_rows, query
from builders.kit.values.money import Money

AMOUNTS = ("subtotal", "tax_total", "total", "credit_applied", "amount_paid")
# The columns that `_invoice_of` reads; a statement adds ALIAS_IDS if it needs them.
COLUMNS = """
    account_id, id, number, is_test, status, currency, tax_rate, subtotal, tax_total, total, credit_applied,
    amount_paid, seller, buyer, promotion_id, stage, payment_method, payment_reference, created_at, issued_at,
    due_at, coalesce(counted_from, due_at) AS counted_from, paid_at, voided_at, uncollectible_at,
    void_reason
"""
_LINE = "id, description, alias_id, quantity, unit_amount, amount, tax_amount, period_start, period_end"
# The counter stays locked until the transaction ends: the next issue waits for it, and a rollback restores it.
COUNT = """
    INSERT INTO invoices_series AS known (series, last) VALUES (%(series)s, 1)
    ON CONFLICT (series) DO UPDATE SET last = known.last + 1
    RETURNING last
"""
# Locks also the credit balance (`payments.lock_balance`): `open_draft` uses it.
INSERT = f"""
    WITH draft AS (
        INSERT INTO invoices_invoices (
            account_id, id, is_test, currency, tax_rate, subtotal, tax_total, total, seller, promotion_id,
            created_at, due_at, stage, counted_from, replaces
        ) VALUES (
            %(account_id)s, %(id)s, %(is_test)s, %(currency)s, %(tax_rate)s, %(subtotal)s, %(tax_total)s,
            %(total)s, %(seller)s, %(promotion_id)s, %(now)s, %(due_at)s, %(stage)s, %(counted_from)s,
            %(replaces)s
        )
    ), line AS (
        INSERT INTO invoices_lines (account_id, invoice_id, invoice_currency, invoice_total, position, {_LINE})
        SELECT %(account_id)s, %(id)s, %(currency)s, %(total)s, position, {_LINE}
        FROM unnest(
            %(ids)s::uuid[], %(descriptions)s::text[], %(alias_ids)s::uuid[], %(quantities)s::int[],
            %(unit_amounts)s::numeric[], %(amounts)s::numeric[], %(tax_amounts)s::numeric[],
            %(period_starts)s::timestamptz[], %(period_ends)s::timestamptz[]
        ) WITH ORDINALITY AS line ({_LINE}, position)
    )
    INSERT INTO invoices_credit_locks AS balance (account_id, currency, turns)
    SELECT %(account_id)s, %(currency)s, 1 WHERE %(total)s::numeric > 0
    ON CONFLICT (account_id, currency) DO UPDATE SET turns = balance.turns + 1
"""
ALIAS_IDS = """
    ARRAY(
        SELECT alias_id FROM invoices_lines AS line
        WHERE line.account_id = %(account_id)s AND line.invoice_id = invoice.id AND alias_id IS NOT NULL
        ORDER BY position
    ) AS alias_ids
"""
_FIND = f"""
    SELECT {COLUMNS}, {ALIAS_IDS}
    FROM invoices_invoices AS invoice WHERE account_id = %(account_id)s AND id = %(invoice_id)s
"""
_FIND_REPLACEMENT = f"""
    SELECT {COLUMNS} FROM invoices_invoices WHERE account_id = %(account_id)s AND replaces = %(invoice_id)s
"""


async def insert(
    conn: Conn,
    *,
    account_id: UUID,
    invoice_id: UUID,
    new: NewInvoice,
    totals: Totals,
    series: str,
    now: datetime,
    replaces: Invoice | None,
) -> int:
    """Insert a draft with its lines; return the next number of the series, unique and without gaps.

    The draft takes the stage of the overdue timeline from the invoice that it `replaces`.
    """
    seller, lines = asdict(new.seller), totals.lines
    row: dict[str, Any] = {
        "account_id": account_id,
        "id": invoice_id,
        **{name: getattr(new, name) for name in ("is_test", "currency", "promotion_id", "due_at")},
        "tax_rate": seller.pop("tax_rate"),
        "subtotal": totals.subtotal.amount,
        "tax_total": totals.tax_total.amount,
        "total": totals.total.amount,
        "seller": Jsonb(seller),
        "now": now,
        "stage": Stage.NONE if replaces is None else replaces.stage,
        "counted_from": None if replaces is None else replaces.counted_from,
        "replaces": None if replaces is None else replaces.id,
        "ids": [line.id for line in lines],
        "descriptions": [line.description for line in lines],
        "alias_ids": [line.alias_id for line in lines],
        "quantities": [line.quantity for line in lines],
        "unit_amounts": [line.unit_amount.amount for line in lines],
        "amounts": [line.amount.amount for line in lines],
        "tax_amounts": [line.tax_amount.amount for line in lines],
        "period_starts": [line.period_start for line in lines],
        "period_ends": [line.period_end for line in lines],
    }
    [(number,)] = await (await conn.execute(COUNT, {"series": series})).fetchall()
    await conn.execute(INSERT, row)
    return int(number)


def _line_of(*, currency: str, unit_amount: Decimal, amount: Decimal, tax_amount: Decimal, **columns: Any) -> Line:
    price = Money(unit_amount, currency).quantized()
    if price.amount != unit_amount:  # it has more decimals than the currency
        price = Money(unit_amount.normalize(), currency)
    return Line(
        unit_amount=price,
        amount=Money(amount, currency).quantized(),
        tax_amount=Money(tax_amount, currency).quantized(),
        **columns,
    )


# The number of the account's oldest unpaid invoice past its grace period.
find_arrears = query("""
    SELECT number FROM invoices_invoices
    WHERE account_id = %(account_id)s AND number IS NOT NULL
      AND status IN ('open', 'uncollectible') AND (status = 'uncollectible' OR stage = %(stage)s)
    ORDER BY id LIMIT 1
""").scalar(str, stage=Stage.GRACE_ENDED)
list_lines = query("""
    SELECT line.id, description, alias_id, quantity, unit_amount, amount, tax_amount, period_start, period_end,
           currency, credited.created_at AS credited_at
    FROM invoices_lines AS line
    JOIN invoices_invoices AS invoice ON invoice.account_id = line.account_id AND invoice.id = line.invoice_id
    LEFT JOIN invoices_line_credits AS credited
      ON credited.account_id = line.account_id AND credited.line_id = line.id
    WHERE line.account_id = %(account_id)s AND line.invoice_id = %(invoice_id)s ORDER BY position
""").all(_line_of)


def _invoice_of(
    *,
    status: str,
    stage: int,
    tax_rate: Decimal,
    seller: dict[str, Any],
    buyer: dict[str, Any] | None,
    void_reason: str | None,
    **columns: Any,
) -> Invoice:
    """Return the invoice of a row with COLUMNS."""
    currency = columns["currency"]
    columns |= {name: Money(columns[name], currency).quantized() for name in AMOUNTS}
    return Invoice(
        status=InvoiceStatus(status),
        stage=Stage(stage),
        tax_rate=tax_rate.normalize() + 0,
        seller=Seller(**seller, tax_rate=tax_rate),
        buyer=None if buyer is None else Buyer(**buyer),
        void_reason=None if void_reason is None else VoidReason(void_reason),
        **columns,
    )


find = query(_FIND).one(_invoice_of)
lock = query(f"{_FIND} FOR UPDATE").one(_invoice_of)
find_replacement = query(_FIND_REPLACEMENT).one(_invoice_of)
lock_replacement = query(f"{_FIND_REPLACEMENT} FOR UPDATE").one(_invoice_of)
# Issued ones with ids below `before`.
list_newest = query(f"""
    SELECT {COLUMNS} FROM invoices_invoices
    WHERE account_id = %(account_id)s AND number IS NOT NULL AND id < %(before)s
    ORDER BY id DESC LIMIT %(limit)s
""").all(_invoice_of)
list_by_number = query(f"""
    SELECT {COLUMNS} FROM invoices_invoices
    WHERE account_id = %(account_id)s AND number = %(number)s AND id < %(before)s
    ORDER BY id DESC LIMIT %(limit)s
""").all(_invoice_of)
# A separate statement: a generic plan of one statement for both would not use the index on the status.
list_by_status = query(f"""
    SELECT {COLUMNS} FROM invoices_invoices
    WHERE account_id = %(account_id)s AND status = %(status)s AND number IS NOT NULL AND id < %(before)s
    ORDER BY id DESC LIMIT %(limit)s
""").all(_invoice_of)
list_all_invoices = newest_rows("invoices_invoices", columns=COLUMNS, only="number IS NOT NULL").all(_invoice_of)


# Holds the counter of a series until the transaction ends, without incrementing it.
lock_series = query("""
    INSERT INTO invoices_series AS known (series, last) VALUES (%(series)s, 0)
    ON CONFLICT (series) DO UPDATE SET last = known.last
""").run()
# Its buyer is the holder of the account, with the billing details that the account has set.
# An invoice whose total is covered by credit is paid at issue; INSERT has locked the balance. The billing details
# of the account replace those of the holder.
open_draft = query(f"""
    WITH used AS (
        SELECT greatest(least(coalesce(sum(amount), 0), %(total)s::numeric), 0) AS credit
        FROM invoices_credit WHERE account_id = %(account_id)s AND currency = %(currency)s
    ), given AS (
        SELECT jsonb_strip_nulls(jsonb_build_object(
            'name', nullif(name, ''), 'address', address, 'country', country, 'tax_id', tax_id
        )) AS buyer FROM invoices_buyers WHERE account_id = %(account_id)s
    )
    UPDATE invoices_invoices AS invoice
    SET status = CASE WHEN total = credit THEN 'paid' ELSE 'open' END,
        paid_at = CASE WHEN total = credit THEN %(now)s::timestamptz END,
        number = %(number)s, credit_applied = credit, issued_at = %(now)s,
        buyer = %(holder)s::jsonb || coalesce((SELECT buyer FROM given), '{{}}')
    FROM used WHERE account_id = %(account_id)s AND id = %(invoice_id)s AND status = 'draft'
    RETURNING {COLUMNS}, {ALIAS_IDS}
""").only(_invoice_of)
# Global, because a bank transfer arrives without its account.
add_number = query("""
    INSERT INTO invoices_numbers (number, account_id, invoice_id)
    VALUES (%(number)s, %(account_id)s, %(invoice_id)s)
""").run()
find_number = query("""
    SELECT account_id, invoice_id FROM invoices_numbers WHERE number = %(number)s
""").one(tuple[UUID, UUID])
# Of a locked invoice, which is paid when no amount is due.
pay = query("""
    UPDATE invoices_invoices
    SET amount_paid = amount_paid + %(amount)s::numeric,
        status = CASE WHEN credit_applied + amount_paid + %(amount)s::numeric = total THEN 'paid' ELSE status END,
        paid_at = CASE WHEN credit_applied + amount_paid + %(amount)s::numeric = total
                       THEN %(now)s::timestamptz END,
        payment_method = %(method)s, payment_reference = %(reference)s
    WHERE account_id = %(account_id)s AND id = %(invoice_id)s AND status IN ('open', 'uncollectible')
""").run()
void = query("""
    UPDATE invoices_invoices SET status = 'void', voided_at = %(now)s, void_reason = %(reason)s
    WHERE account_id = %(account_id)s AND id = %(invoice_id)s AND status IN ('open', 'uncollectible')
""").changes()
mark_uncollectible = query("""
    UPDATE invoices_invoices SET status = 'uncollectible', uncollectible_at = %(now)s
    WHERE account_id = %(account_id)s AND id = %(invoice_id)s AND status = 'open'
""").changes()
# Moves those in the stage whose timeline started at `due` or earlier; if it started before `late`, it starts
# again at `due`. Two workers never advance the same invoice: rows that another has locked are skipped.
# If a step is late, the timeline starts again as if the step were due now, so that the next steps are late by the
# same time.
_DUE = """
    status = 'open' AND stage = %(stage)s AND due_at <= %(due)s AND coalesce(counted_from, due_at) <= %(due)s
"""
# The timeline of a suspended account stops.
list_due = due_rows(
    "invoices_invoices",
    by="due_at",
    at="due",
    only=f"""{_DUE} AND NOT EXISTS (
    SELECT FROM kit_suspensions AS held WHERE held.account_id = invoices_invoices.account_id
)""",
).all(tuple[UUID, UUID])
advance = query(f"""
    WITH due AS (
        SELECT id FROM invoices_invoices
        WHERE account_id = %(account_id)s AND id = ANY(%(invoice_ids)s::uuid[]) AND {_DUE}
        ORDER BY due_at, id FOR UPDATE SKIP LOCKED
    )
    UPDATE invoices_invoices AS invoice
    SET stage = least(stage + 1, %(last)s),
        status = CASE WHEN stage = %(last)s THEN 'uncollectible' ELSE status END,
        uncollectible_at = CASE WHEN stage = %(last)s THEN %(now)s::timestamptz END,
        counted_from = CASE WHEN stage < %(last)s AND coalesce(counted_from, due_at) < %(late)s THEN %(due)s
                            ELSE counted_from END
    WHERE account_id = %(account_id)s AND id IN (SELECT id FROM due)
    RETURNING {COLUMNS}, {ALIAS_IDS}
""").all(_invoice_of, last=Stage.GRACE_ENDED)


# Each change of an invoice locks its row, so rows that are read after this statement stay valid until the commit.
lock_charged = query("""
    SELECT FROM invoices_invoices
    WHERE account_id = %(account_id)s AND id IN (
        SELECT invoice_id FROM invoices_lines
        WHERE account_id = %(account_id)s AND alias_id = ANY(%(alias_ids)s::uuid[])
          AND coalesce(period_end, 'infinity') > %(now)s
    ) ORDER BY id FOR UPDATE
""").run()


def _charge_of(*, status: str, stage: int, currency: str, amount: Decimal, **columns: Any) -> Charge:
    return Charge(
        status=InvoiceStatus(status), stage=Stage(stage), amount=Money(amount, currency).quantized(), **columns
    )


# Serializes transactions that lock or withdraw charges of an account. A separate statement, so that the next
# statement sees invoices that the other transaction issued.
lock_account = query("""
    SELECT pg_advisory_xact_lock(hashtextextended('invoices_charges ' || %(account_id)s::text, 0))
""").run()
# Invoices that a release of names changes:
# 1. open invoices with a period of a released name that begins after the release, which is not owed;
# 2. open and paid invoices with a line for an undone claim, which is not owed or becomes credit.
lock_withdrawn = query(f"""
    SELECT {COLUMNS} FROM invoices_invoices
    WHERE account_id = %(account_id)s AND status IN ('open', 'paid') AND (
        status = 'open' AND id IN (
            SELECT invoice_id FROM invoices_lines
            WHERE account_id = %(account_id)s AND alias_id = ANY(%(alias_ids)s::uuid[]) AND period_start > %(at)s
        ) OR id IN (
            SELECT invoice_id FROM invoices_lines
            WHERE account_id = %(account_id)s AND alias_id = ANY(%(undone)s::uuid[])
        )
    ) ORDER BY id FOR UPDATE
""").all(_invoice_of)
# Lines of issued invoices for periods of the names that end after `now`, oldest first.
list_charges = query("""
    SELECT line.alias_id, line.id AS line_id, invoice.id AS invoice_id, invoice.number, invoice.status,
           invoice.stage, invoice.currency, line.amount + line.tax_amount AS amount, line.period_start,
           line.period_end, credited.line_id IS NOT NULL AS is_credited
    FROM invoices_lines AS line
    JOIN invoices_invoices AS invoice
      ON invoice.account_id = line.account_id AND invoice.id = line.invoice_id AND invoice.status <> 'draft'
    LEFT JOIN invoices_line_credits AS credited
      ON credited.account_id = line.account_id AND credited.line_id = line.id
    WHERE line.account_id = %(account_id)s AND line.alias_id = ANY(%(alias_ids)s::uuid[])
      AND coalesce(line.period_end, 'infinity') > %(now)s
    ORDER BY invoice.id, line.position
""").all(_charge_of)
list_open = query("""
    SELECT id FROM invoices_invoices
    WHERE account_id = %(account_id)s AND id = ANY(%(invoice_ids)s::uuid[]) AND status = 'open'
""").set_of(UUID)
# A line that is already credited violates the unique key.
insert_credits = query("""
    INSERT INTO invoices_line_credits (account_id, line_id, invoice_id, credit_id, created_at)
    SELECT %(account_id)s, line_id, %(invoice_id)s, %(credit_id)s, %(now)s
    FROM unnest(%(line_ids)s::uuid[]) AS line (line_id)
""").run()

# Tax law demands the name and the postal address of the buyer (Directive 2006/112/EC, article 226), no more.
erase_buyer = query("""
    UPDATE invoices_invoices SET buyer = buyer - 'email'
    WHERE account_id = %(account_id)s AND buyer ? 'email'
""").count()
