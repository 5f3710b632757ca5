"""The statements that may use tables of another package, or of all accounts."""

from builders.portfolio.domains.records import DomainSort
from builders.portfolio.registrars.findings import OF_CONNECTIONS, FindingCategory

STORE, LIST = "builders/portfolio/registrars/store/", "builders/portfolio/domains/store/pages.py:"
# One statement for each category of findings compares registrars with the portfolio.
COMPARED = [each.name for each in FindingCategory if each not in OF_CONNECTIONS]
HISTORY = (
    *("portfolio_billing_charges", "portfolio_domains", "portfolio_finance_sales", "portfolio_ledger_entries"),
    *("portfolio_parking_revenue", "portfolio_registrars_holdings", "portfolio_renewals_decisions"),
    "portfolio_transfers",
)
READ = ("LIST_REGISTRARS", "COUNT_COMPARED", "LIST_FORMS", "FIND_PAIRS")
# Allowed exceptions by the beginning of their error, with the reason.
ALLOWED = {
    **dict.fromkeys(
        (f"{STORE}comparisons.py:{each} portfolio_domains" for each in COMPARED),
        "compares both",
    ),
    **dict.fromkeys((f"{STORE}reconcile.py:{each} portfolio_domains" for each in READ), "as above"),
    "builders/portfolio/renewals/store.py:DUE portfolio_domains": "joins domains with the decisions about them",
    "builders/portfolio/renewals/store.py:SUM_DUE portfolio_domains": "sums them: any number of ids would be sent",
    "builders/portfolio/renewals/store.py:SUM_DUE portfolio_ledger_entries": "as above, with their last renewals",
    "builders/portfolio/parking/store.py:SUM_PRICES portfolio_domains": "sums prices of any number of domains",
    "builders/portfolio/finance/store.py:LIST_LABELS portfolio_domains": "groups the entries by those of domains",
    "builders/portfolio/finance/store.py:SUM_BY_LABEL portfolio_domains": "as above",
    "builders/portfolio/finance/store.py:SUM_BY_MONTH portfolio_domains": "as above",
    "builders/portfolio/finance/store.py:SUM_BY_MONTH portfolio_ledger_entries": "as above",
    **{
        f"builders/portfolio/finance/store.py:{each} portfolio_renewals_decisions": "a filter"
        for each in ("LIST_LABELS", "SUM_BY_LABEL", "SUM_BY_MONTH")
    },
    "builders/portfolio/finance/store.py:SUM_BY_LABEL portfolio_ledger_entries": "as above",
    **dict.fromkeys(
        (f"builders/portfolio/history/store.py:LIST_HISTORY {each}" for each in HISTORY),
        "counts what each package records on domains",
    ),
    "builders/portfolio/domains/store/renewal_facts.py:LIST_EXPIRING portfolio_renewals_decisions": "a filter",
    "builders/kit/db/migrations.py:HAS_QUEUE_TABLE procrastinate_jobs": "decides whether to create the queue",
    "builders/kit/http/idempotency.py:PRUNE": "deletes old keys of all accounts",
    "builders/kit/events/dispatcher.py:CLAIM": "events of all accounts are dispatched in one batch",
    "builders/kit/events/dispatcher.py:LIST_SINCE": "as above, for events that a subscriber missed",
    "builders/identity/store/keys.py:FIND_HOLDER": "a key arrives without its account",
    "builders/identity/store/sessions.py:REDEEM_GRANT": "a grant arrives without its account",
    "builders/identity/store/sessions.py:PRUNE_SESSIONS": "deletes old sessions of all accounts",
    "builders/mail/store.py:FIND_ORIGINS": "a tracked link arrives without its account",
    "builders/tracking/store.py:INSERT": "opens and clicks of all accounts share a commit; each row names its own",
    "builders/tracking/store.py:MARK_BURSTS": "marks automated clicks of all accounts",
    "builders/aliases/store/queries.py:LIST_ACTIVE": "a mail server forwards the names of all accounts",
    "builders/aliases/store/queries.py:LIST_CHANGED": "as above, for changes",
    "builders/aliases/store/billing.py:LIST_DUE_ACCOUNTS": "renews names of all accounts",
    "builders/mail/store.py:SWEEP": "sends due mail of all accounts",
    "builders/webhooks/store/claims.py:LIST_OVERTAKEN": "distributes capacity among all accounts",
    "builders/webhooks/store/deliveries.py:QUEUE": "the operator reads the queue of all accounts",
    "builders/webhooks/store/results.py:LIST_UNHEALTHY": "the operator reads the receivers of all accounts",
    "builders/webhooks/store/claims.py:CANCEL": "disabled destinations of all accounts",
    "builders/webhooks/store/secrets.py:LIST_STALE": "seals secrets of all accounts with the new key",
    "builders/portfolio/registrars/store/credentials.py:LIST_STALE": "as above, for credentials of registrars",
    "builders/invoices/store/transitions.py:ADVANCE_STAGE": "advances overdue invoices of all accounts",
    "builders/invoices/store/transitions.py:MARK_DUE_UNCOLLECTIBLE": "as above, for unpaid invoices",
    "builders/kit/jobs/superseded.py:FIND_WAITING procrastinate_jobs": "no retry beside a waiting job",
    "builders/kit/jobs/time_slices.py:LIST_WAITING procrastinate_jobs": "no second job beside a waiting one",
    "builders/kit/jobs/queue.py:PRUNE_FAILED procrastinate_jobs": "deletes failed jobs, which the queue keeps",
    "builders/kit/jobs/queue.py:PRUNE_FAILED procrastinate_events": "as above, for the events of those jobs",
    "builders/portfolio/ledger/store/rates.py:LIST_AWAITING": "converts entries of all accounts at a new rate",
    "builders/portfolio/domains/store/renewal_facts.py:LIST_PORTFOLIOS": "finds due notices of all accounts",
    "builders/portfolio/notifications/store/notices.py:INSERT_NOTICES": "each row names its account",
    "builders/portfolio/notifications/store/notices.py:LIST_DUE_ACCOUNTS": "finds due emails of all accounts",
    "builders/portfolio/notifications/store/notices.py:PRUNE_NOTICES": "deletes old notices of all accounts",
    "builders/portfolio/notifications/store/notices.py:PRUNE_KEYS": "deletes keys of old notices of all accounts",
    "builders/portfolio/domains/store/due.py:CLAIM": "claims due domains of all accounts",
    "builders/portfolio/domains/store/rdap.py:CLAIM": "claims due requests to registries of all accounts",
    "builders/portfolio/registrars/store/runs.py:PRUNE": "deletes old runs of all accounts",
    "builders/portfolio/registrars/store/connections.py:PRUNE": "deletes old connections of all accounts",
    "builders/portfolio/registrars/store/holdings.py:LIST portfolio_domains": "joins both",
    "builders/portfolio/registrars/store/holdings.py:LIST_OF_PROVIDER portfolio_domains": "as above",
    **dict.fromkeys(
        [f"{LIST}{each} portfolio_renewals_decisions" for each in ("BATCH", *DomainSort.__members__)], "a filter"
    ),
    "builders/portfolio/imports/store/imports.py:LIST_NEXT": "resumes the imports of all accounts",
    "builders/portfolio/imports/store/imports.py:PRUNE_IMPORTS": "deletes old imports of all accounts",
    "builders/portfolio/imports/store/imports.py:DELETE_OLDEST": "deletes old imports of all accounts",
    "builders/portfolio/transfers/store.py:CLAIM": "claims due transfers of all accounts",
    "builders/portfolio/team/store.py:PRUNE_INVITES": "deletes expired invitations of all accounts",
    "builders/profile/store.py:PRUNE_SENT": "deletes old sends of all accounts",
    "builders/domains/store/domains.py:CLAIM_DUE": "claims due domains of all accounts",
    "builders/sandbox/store/promotions.py:LIST_ABANDONED": "continues promotions of all accounts",
    "builders/sandbox/store/plans.py:PRUNE_PLANS": "deletes old plans of all accounts",
}
