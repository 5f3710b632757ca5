"""Marks of copies that a statement about entries or sales outdates: figures of domains, and sums of months.

A statement has the rows that it changed as `changed`. The marks are rows of its transaction, and visible with it.
"""

OUTDATED_DOMAINS = """
    outdated AS (
        INSERT INTO portfolio_domains_outdated (account_id, domain_id)
        SELECT DISTINCT %(account_id)s::uuid, domain_id FROM changed
    )
"""
OUTDATED = f"""
    {OUTDATED_DOMAINS}, outdated_months AS (
        INSERT INTO portfolio_domains_outdated_months (account_id, month)
        SELECT DISTINCT %(account_id)s::uuid, portfolio_domains_month(occurred_on) FROM changed
    )
"""
