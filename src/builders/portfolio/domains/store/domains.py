"""Domains of a portfolio: found, added, changed and removed, any number with one statement."""

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString
from uuid import UUID

from builders.kit.db.columns import columns_of, settings_of, typed_columns_of
from builders.kit.db.queries import account_lock, constructor, due_rows, query
from builders.kit.values import texts
from builders.kit.values.money import Money
from builders.portfolio.domains.lifecycle import state_of
from builders.portfolio.domains.records import (
    FIELDS,
    ChangeSource,
    Domain,
    DomainFields,
    ExpirySource,
    MemberChange,
    RecordedChange,
    UsedTag,
)
from builders.portfolio.domains.store.filters import HELD
from builders.portfolio.domains.today import Today

# Each amount with the column of its currency.
CURRENCIES: Mapping[LiteralString, LiteralString] = {
    "renewal_price": "renewal_currency",
    "asking_price": "asking_currency",
    "min_offer": "min_offer_currency",
    "estimated_value": "estimated_currency",
}
FIELD_COLUMNS = f"{columns_of(DomainFields)}, {', '.join(CURRENCIES.values())}, lifecycle"
COLUMNS = f"id, domain, unicode, tld, {FIELD_COLUMNS}, created_at, updated_at"
# What is written besides the fields, with the types of the columns.
_MORE: Mapping[LiteralString, LiteralString] = {
    **dict.fromkeys((*CURRENCIES.values(), "lifecycle", "search"), "text"),
    "lifecycle_due_at": "timestamptz",
}
_DEFINITIONS: Sequence[LiteralString] = [name + " " + kind for name, kind in _MORE.items()]
_ASSIGNMENTS: Sequence[LiteralString] = [name + " = written." + name for name in _MORE]
# The record of a row of JSON, and the assignments of its fields.
ROW_DEFINITION = f"""
    id uuid, domain text, unicode text, tld text, {typed_columns_of(DomainFields)}, {", ".join(_DEFINITIONS)}
"""
ASSIGNMENTS = f"{settings_of(DomainFields, 'written')}, {', '.join(_ASSIGNMENTS)}"


_make = constructor(Domain)


def domain_of(**columns: Any) -> Domain:
    """Return the record of a row."""
    for amount, currency in CURRENCIES.items():
        value, code = columns[amount], columns.pop(currency)
        columns[amount] = None if value is None or code is None else Money(value, code)
    return _make(**columns)


def written_columns(fields: DomainFields, *, tld: str, today: Today) -> Mapping[str, Any]:
    """Return the columns of a domain to write, with its present state."""
    columns: dict[str, Any] = {name: getattr(fields, name) for name in FIELDS}
    if fields.expires_at is not None:
        columns["expiry_source"] = fields.expiry_source or ExpirySource.MANUAL
    for amount, currency in CURRENCIES.items():
        money: Money | None = columns[amount]
        columns[amount] = None if money is None else f"{money.quantized().amount:f}"
        columns[currency] = None if money is None else money.currency
    state = state_of(fields, tld=tld, today=today)
    columns |= {"lifecycle": state.lifecycle, "lifecycle_due_at": state.changes_at}
    return {**columns, "search": texts.lowered("\n".join((*fields.tags, fields.notes or ""))) or None}


def _recorded(
    *, source: str | None, changes: Sequence[Mapping[str, Any]], **columns: Any
) -> RecordedChange | None:
    if source is None:
        return None
    return RecordedChange(
        source=ChangeSource(source), changes=[MemberChange(**each) for each in changes], **columns
    )


def _owned(*, account_id: UUID, **columns: Any) -> tuple[UUID, Domain]:
    return account_id, domain_of(**columns)


find = query(f"""
    SELECT {COLUMNS} FROM portfolio_domains WHERE account_id = %(account_id)s AND id = %(domain_id)s
""").one(domain_of)
find_by_name = query(f"""
    SELECT {COLUMNS} FROM portfolio_domains WHERE account_id = %(account_id)s AND domain = %(domain)s
""").one(domain_of)
list_by_id = query(f"""
    SELECT {COLUMNS} FROM portfolio_domains WHERE account_id = %(account_id)s AND id = ANY(%(ids)s::uuid[])
""").all(domain_of)
list_by_name = query(f"""
    SELECT {COLUMNS} FROM portfolio_domains WHERE account_id = %(account_id)s AND domain = ANY(%(names)s::text[])
""").all(domain_of)
# A range of the names of each label: "/" follows "." in the order of the column.
list_by_label = query(f"""
    SELECT {COLUMNS} FROM unnest(%(labels)s::text[]) AS wanted (label)
    JOIN portfolio_domains ON domain > wanted.label || '.' AND domain < wanted.label || '/'
    WHERE account_id = %(account_id)s
""").all(domain_of)
# In one order for all, so that two that change the same domains do not wait for each other.
lock = query(f"""
    SELECT {COLUMNS} FROM portfolio_domains WHERE account_id = %(account_id)s AND id = ANY(%(ids)s::uuid[])
    ORDER BY id FOR NO KEY UPDATE
""").all(domain_of)
# No new row can refer to them.
lock_for_removal = query(f"""
    SELECT {COLUMNS} FROM portfolio_domains WHERE account_id = %(account_id)s AND id = ANY(%(ids)s::uuid[])
    ORDER BY id FOR UPDATE
""").all(domain_of)
# Locks the number of domains of a portfolio until the transaction ends.
lock_portfolio = account_lock("portfolio_domains")
count = query("SELECT count(*) FROM portfolio_domains WHERE account_id = %(account_id)s").value(int)


# The names in one order for all, as above. An existing name is omitted from the result, which has no order.
insert = query(f"""
    WITH new AS (
        INSERT INTO portfolio_domains AS domain (account_id, {COLUMNS}, lifecycle_due_at, search, rdap_due_at)
        SELECT %(account_id)s, id, domain, unicode, tld, {FIELD_COLUMNS}, %(now)s, %(now)s, lifecycle_due_at,
               search, %(rdap_due_at)s
        FROM jsonb_to_recordset(%(rows)s::jsonb) AS written ({ROW_DEFINITION})
        ORDER BY domain
        ON CONFLICT (account_id, domain) DO NOTHING
        RETURNING {COLUMNS}
    ), tagged AS (
        INSERT INTO portfolio_domains_tags (account_id, tag, domain_id)
        SELECT %(account_id)s, tag, id FROM new, unnest(tags) AS tag
    ), valued AS (
        INSERT INTO portfolio_domains_value_changes (account_id, month, domain_id, currency, change)
        SELECT %(account_id)s, portfolio_domains_month(%(today)s), id, estimated_currency, estimated_value
        FROM new WHERE status = ANY(%(held)s::text[]) AND estimated_value IS NOT NULL
    )
    SELECT {COLUMNS} FROM new
""").all(domain_of, held=HELD)


# The domains are locked; each row has the id of its change.
update = query(f"""
    WITH written AS MATERIALIZED (
        SELECT * FROM jsonb_to_recordset(%(rows)s::jsonb)
        AS written ({ROW_DEFINITION}, change_id uuid, changes jsonb)
    ), changed AS (
        UPDATE portfolio_domains AS domain
        SET {ASSIGNMENTS}, updated_at = %(now)s,
            rdap_due_at = CASE WHEN domain.expires_at IS NOT NULL AND written.expires_at IS NULL THEN %(now)s
                               WHEN domain.expiry_source IN ('manual', 'registrar')
                                    AND written.expiry_source = 'rdap' THEN %(now)s
                               ELSE rdap_due_at END
        FROM written WHERE domain.account_id = %(account_id)s AND domain.id = written.id
        RETURNING domain.id
    ), untagged AS (
        DELETE FROM portfolio_domains_tags AS tag USING written
        WHERE tag.account_id = %(account_id)s AND tag.domain_id = written.id AND tag.tag <> ALL(written.tags)
        RETURNING tag.domain_id
    ), tagged AS (
        INSERT INTO portfolio_domains_tags (account_id, tag, domain_id)
        SELECT %(account_id)s, tag, id FROM written, unnest(tags) AS tag
        ON CONFLICT DO NOTHING
        RETURNING domain_id
    ), retagged AS (
        SELECT domain_id FROM untagged UNION SELECT domain_id FROM tagged
    ), outdated AS (
        INSERT INTO portfolio_domains_outdated_months (account_id, month)
        SELECT DISTINCT %(account_id)s::uuid, portfolio_domains_month(occurred_on)
        FROM portfolio_ledger_entries
        WHERE account_id = %(account_id)s AND domain_id IN (SELECT domain_id FROM retagged)
    ), recorded AS (
        INSERT INTO portfolio_domains_changes (account_id, domain_id, id, created_at, source, member_id, changes)
        SELECT %(account_id)s, id, change_id, %(now)s, %(source)s, %(member_id)s, changes FROM written
    ), estimates AS (
        -- The new ones, less the present ones: this statement does not see what it changes.
        SELECT id, status, estimated_currency AS currency, estimated_value AS amount FROM written
        UNION ALL
        SELECT id, status, estimated_currency, -estimated_value FROM portfolio_domains
        WHERE account_id = %(account_id)s AND id IN (SELECT id FROM written)
    ), valued AS (
        INSERT INTO portfolio_domains_value_changes AS earlier (account_id, month, domain_id, currency, change)
        SELECT %(account_id)s, portfolio_domains_month(%(today)s), id, currency, sum(amount)
        FROM estimates WHERE status = ANY(%(held)s::text[]) AND amount IS NOT NULL
        GROUP BY id, currency HAVING sum(amount) <> 0 OR count(*) = 1  -- also a first estimate of zero
        ON CONFLICT (account_id, month, domain_id, currency) DO UPDATE
        SET change = earlier.change + excluded.change
    )
    SELECT id FROM changed
""").run(held=HELD)


# The newest first; None for a domain without changes, and no row without the domain.
list_changes = query("""
    SELECT change.*
    FROM (SELECT FROM portfolio_domains WHERE account_id = %(account_id)s AND id = %(domain_id)s) AS domain
    LEFT JOIN (
        SELECT id, created_at, source, member_id, changes FROM portfolio_domains_changes
        WHERE account_id = %(account_id)s AND domain_id = %(domain_id)s AND id < %(before)s
        ORDER BY id DESC LIMIT %(limit)s
    ) AS change ON true
    ORDER BY id DESC
""").all(_recorded)


delete = query(f"""
    WITH locked AS (
        SELECT id FROM portfolio_domains WHERE account_id = %(account_id)s AND id = ANY(%(ids)s::uuid[])
        ORDER BY id FOR UPDATE
    ), forgotten AS (
        DELETE FROM portfolio_domains_changes
        WHERE account_id = %(account_id)s AND domain_id IN (SELECT id FROM locked)
    ), outdated AS (
        INSERT INTO portfolio_domains_outdated_months (account_id, month)
        SELECT DISTINCT %(account_id)s::uuid, portfolio_domains_month(occurred_on)
        FROM portfolio_ledger_entries
        WHERE account_id = %(account_id)s AND domain_id IN (SELECT id FROM locked)
    ), unassigned AS (
        UPDATE portfolio_billing_charges SET domain_id = NULL
        WHERE account_id = %(account_id)s AND domain_id IN (SELECT id FROM locked)
    )
    DELETE FROM portfolio_domains WHERE account_id = %(account_id)s AND id IN (SELECT id FROM locked)
    RETURNING {COLUMNS}
""").all(domain_of)
forget_connection = query("""
    UPDATE portfolio_domains SET connection_id = NULL, updated_at = %(now)s
    WHERE account_id = %(account_id)s AND connection_id = %(connection_id)s
""").count()
count_connections = query("""
    SELECT connection_id, count(*) FROM portfolio_domains
    WHERE account_id = %(account_id)s AND connection_id IS NOT NULL GROUP BY connection_id
""").pairs(UUID, int)
count_tags = query("""
    SELECT tag, count FROM (
        SELECT tag, count(*) AS count FROM portfolio_domains_tags WHERE account_id = %(account_id)s
        GROUP BY tag ORDER BY count DESC, tag LIMIT %(limit)s
    ) AS frequent
    ORDER BY tag
""").all(UsedTag)
list_due = due_rows("portfolio_domains", by="lifecycle_due_at", columns=f"account_id, {COLUMNS}").all(_owned)


# All of an account, whatever their time: another time zone moves the end of each state.
expedite = query("""
    WITH later AS (
        SELECT id FROM portfolio_domains WHERE account_id = %(account_id)s AND lifecycle_due_at > %(now)s
        ORDER BY id LIMIT %(limit)s FOR NO KEY UPDATE
    )
    UPDATE portfolio_domains SET lifecycle_due_at = %(now)s
    WHERE account_id = %(account_id)s AND id IN (SELECT id FROM later)
""").count()


# Returns those that nobody has changed meanwhile: another worker, or their owner, has set when they are due.
advance = query("""
    UPDATE portfolio_domains AS domain SET lifecycle = state.lifecycle, lifecycle_due_at = state.due_at
    FROM unnest(%(account_ids)s::uuid[], %(ids)s::uuid[], %(lifecycles)s::text[], %(due)s::timestamptz[])
         AS state (account_id, id, lifecycle, due_at)
    WHERE domain.account_id = ANY(%(account_ids)s::uuid[]) AND domain.account_id = state.account_id
      AND domain.id = state.id AND domain.lifecycle_due_at <= %(now)s
    RETURNING domain.id
""").set_of(UUID)
