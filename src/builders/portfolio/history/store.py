"""SQL of the history of domains: counts in the tables of the portfolio."""

from builders.kit.db.queries import query
from builders.portfolio.history.records import DomainHistory

list_history = query("""
    SELECT domain.id AS domain_id, coalesce(domain.rdap_facts, '{}') AS registry,
        (SELECT count(*) FROM portfolio_ledger_entries AS entry
         WHERE entry.account_id = %(account_id)s AND entry.domain_id = domain.id AND voided_at IS NULL
           AND entry.id <> ALL(%(except_entry_ids)s::uuid[])
           -- Those of a month whose days are all of the import were recorded by it.
           AND (source <> 'parking' OR EXISTS (
               SELECT FROM portfolio_parking_revenue AS revenue
               WHERE revenue.account_id = %(account_id)s AND revenue.domain_id = domain.id AND amount > 0
                 AND (import_id = %(except_import_id)s) IS NOT TRUE
           ))) AS entries,
        (SELECT count(*) FROM portfolio_finance_sales AS sale
         WHERE sale.account_id = %(account_id)s AND sale.domain_id = domain.id AND voided_at IS NULL
           AND (import_id = %(except_import_id)s) IS NOT TRUE) AS sales,
        (SELECT count(*) FROM portfolio_billing_charges AS charge
         WHERE charge.account_id = %(account_id)s AND charge.domain_id = domain.id) AS charges,
        (SELECT count(*) FROM portfolio_parking_revenue AS revenue
         WHERE revenue.account_id = %(account_id)s AND revenue.domain_id = domain.id
           AND (import_id = %(except_import_id)s) IS NOT TRUE) AS parking_days,
        (SELECT count(*) FROM portfolio_renewals_decisions AS decided
         WHERE decided.account_id = %(account_id)s AND decided.domain_id = domain.id
           AND decided_at > %(since)s) AS decisions,
        (SELECT count(*) FROM portfolio_transfers AS transfer
         WHERE transfer.account_id = %(account_id)s AND transfer.domain_id = domain.id
           AND (direction IS NOT NULL OR code_requests <> '{}')) AS transfers,
        (SELECT count(*) FROM portfolio_registrars_holdings AS holding
         WHERE holding.account_id = %(account_id)s AND holding.domain = domain.domain
           AND last_seen_at > %(since)s) AS holdings
    FROM portfolio_domains AS domain
    WHERE domain.account_id = %(account_id)s AND domain.id = ANY(%(domain_ids)s::uuid[])
""").all(DomainHistory)
