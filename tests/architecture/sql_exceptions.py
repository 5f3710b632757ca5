"""The statements that may use tables of another package, or of all accounts."""

STORE, LIST = "builders/portfolio/registrars/store/", "builders/portfolio/domains/store/pages.py:"
FIGURES = "builders/portfolio/domains/store/figures.py:"
EXPIRING = "builders/portfolio/domains/store/renewal_facts.py:list_expiring"
LISTED = ("BATCH", "COUNT", "PAGES", "PAGE_BY_FIGURE")
RATES = ("portfolio_ledger_own_rates", "portfolio_ledger_rates")
SUMMED = ("portfolio_finance_sales", "portfolio_ledger_entries", "portfolio_ledger_settings", *RATES)
HISTORY = (
    *("portfolio_billing_charges", "portfolio_domains", "portfolio_finance_sales", "portfolio_ledger_entries"),
    *("portfolio_parking_revenue", "portfolio_registrars_holdings", "portfolio_renewals_decisions"),
    "portfolio_transfers",
)
LEDGER, SOLD = "builders/portfolio/ledger/store/", ("SAVE_SALES", "take_due", "void_sales", "void_imported")
READ = ("list_registrars", "list_forms", "list_pairs")
CONNECTIONS = ("_CONNECTIONS", "list_connections", "find_connection", "list_active")
OF_CONNECTIONS = ("_GENERATIONS", "lock_connection", "find_refresh", "find_either", "find_access")
OUTDATED = ("portfolio_domains_outdated", "portfolio_domains_outdated_months")
SUSPENDED = (
    *(f"identity/store/keys.py:{each}" for each in ("find_holder", "list_holders")),
    *("webhooks/store/claims.py:cancel_undeliverable", "webhooks/store/claims.py:CLAIM"),
    *("webhooks/store/events.py:INSERT_DELIVERIES", "webhooks/store/deliveries.py:measure_queue"),
)
# A restore concerns all accounts, and each package: its statements, and the tables that each touches.
RESTORES = {
    "end_sign_ins": (" identity_sign_ins",),
    "record_restore": (" kit_restores",),
    "accept": (" kit_restores",),
    "end_sessions": (" identity_sessions", ""),
    "end_grants": (" identity_grants", ""),
    "end_devices": (" identity_devices_requests",),
    "end_links": (" profile_tokens",),
    "end_invites": (" portfolio_team_invites", ""),
    "end_calendars": (" portfolio_renewals_calendars", ""),
    "end_codes": (" identity_oauth_codes", ""),
    "end_requests": (" identity_oauth_requests",),
    "end_connections": (" identity_keys", ""),
    "end_approvals": (" plans_approval_decisions", ""),
    "end_proposals": (" plans_approval_proposals", ""),
    "disable_keys": (" identity_keys", ""),
    "spend_mandates": (" identity_keys", " identity_mandate_uses", ""),
    "skip_numbers": (" invoices_series",),
    "list_later": (" aliases", " invoices_invoices", " invoices_payments", ""),
    "count_rows": (" aliases", " identity_accounts", " invoices_invoices", " kit_outbox", ""),
    "count_open": (
        " aliases",
        " erasure_requests",
        " identity_keys",
        " invoices_invoices",
        " kit_outbox_pending",
        " mail_messages",
        " plans_promotions",
        " procrastinate_jobs",
        " webhooks_due",
        "",
    ),
}
# Allowed exceptions by the beginning of their error, with the reason.
ALLOWED = {
    **{f"builders/{each} kit_suspensions": "nothing works for suspended accounts" for each in SUSPENDED},
    f"{STORE}rules.py:FIND portfolio_domains": "compares registrars with the portfolio",
    **dict.fromkeys((f"{STORE}reconcile.py:{each} portfolio_domains" for each in READ), "as above"),
    "builders/portfolio/renewals/store.py:DUE portfolio_domains": "joins domains with the decisions about them",
    "builders/portfolio/renewals/store.py:SUM_DUE portfolio_domains": "sums them: any number of ids would be sent",
    "builders/portfolio/parking/store.py:sum_prices portfolio_domains": "sums prices of any number of domains",
    "builders/portfolio/finance/store.py:LIST_LABELS portfolio_domains": "groups the entries by those of domains",
    "builders/portfolio/finance/store.py:SUM_BY_LABEL portfolio_domains": "as above",
    "builders/portfolio/finance/store.py:SUM_BY_MONTH portfolio_domains": "as above",
    "builders/portfolio/finance/store.py:SUM_VALUES portfolio_domains": "sums the estimates of any number of them",
    "builders/portfolio/finance/store.py:SUM_BY_MONTH portfolio_ledger_entries": "as above",
    **{
        f"builders/portfolio/finance/store.py:{each} portfolio_domains_{table}": "copies of its sums"
        for each in ("SUM_BY_LABEL", "SUM_BY_MONTH")
        for table in ("months", "outdated_months")
    },
    **{
        f"builders/portfolio/finance/store.py:{each} portfolio_renewals_decisions": "a filter"
        for each in ("LIST_LABELS", "SUM_BY_LABEL", "SUM_BY_MONTH", "SUM_VALUES")
    },
    **{
        f"builders/portfolio/finance/store.py:{each} portfolio_domains_value_changes": "sums those of any domains"
        for each in ("SUM_VALUES", "find_first_value_month")
    },
    "builders/portfolio/finance/store.py:SUM_BY_LABEL portfolio_ledger_entries": "as above",
    "builders/portfolio/finance/store.py:list_holding_sums portfolio_ledger_entries": "sums those since a sale",
    "builders/portfolio/finance/store.py:list_changed_entries portfolio_ledger_entries": "joins them with sales",
    **dict.fromkeys(
        (f"builders/portfolio/history/store.py:list_history {each}" for each in HISTORY),
        "counts what each package records on domains",
    ),
    f"{EXPIRING} portfolio_renewals_decisions": "a filter",
    "builders/kit/db/old_rows.py:STATEMENTS": "deletes old rows of all accounts",
    "builders/kit/db/queries.py:FINDERS": "finds rows of all accounts",
    "builders/kit/events/dispatcher.py:_list_pending": "events of all accounts are dispatched in one batch",
    "builders/kit/events/dispatcher.py:_claim": "as above",
    "builders/kit/events/dispatcher.py:_find_oldest_pending": "the age of the outbox is that of all accounts",
    "builders/aliases/store/destinations.py:list_waiting": "finds accounts with destinations to ask",
    **{
        f"builders/identity/oauth/store.py:{each} identity_keys": "a connection is a key without a secret"
        for each in CONNECTIONS
    },
    **{
        f"builders/identity/oauth/store.py:{each} identity_keys": "a token works as long as its connection"
        for each in OF_CONNECTIONS
    },
    "builders/identity/oauth/store.py:find_access identity_accounts": "as above, with the sandbox that it opens",
    "builders/identity/store/sessions.py:find_grant": "the operator names a grant without its account",
    "builders/mail/store.py:FIND_ORIGINS": "a tracked link arrives without its account",
    "builders/tracking/store.py:INSERT": "opens and clicks of all accounts share a commit; each row names its own",
    "builders/tracking/store.py:mark_bursts": "marks automated clicks of all accounts",
    "builders/webhooks/store/claims.py:list_overtaken": "distributes capacity among all accounts",
    "builders/webhooks/store/deliveries.py:measure_queue": "the operator reads the queue of all accounts",
    "builders/webhooks/store/claims.py:cancel_undeliverable": "disabled destinations of all accounts",
    "builders/webhooks/store/destinations.py:list_stale": "seals secrets of all accounts with the new key",
    **{
        f"builders/backup/store.py:{each}{table}": "a restore"
        for each, found in RESTORES.items()
        for table in found
    },
    "builders/forwarding/store.py:list_further_tables kit_restores": "whether it is accepted",
    "builders/erasure/store.py:delete_sign_ins identity_sign_ins": "codes for an address that had no account",
    "builders/erasure/store.py:delete_jobs procrastinate_jobs": "arguments name the account",
    "builders/portfolio/team/store.py:erase_invites": "an erased address may be invited to any team",
    "builders/kit/jobs/queue.py:FIND_WAITING procrastinate_jobs": "no retry beside a waiting job",
    "builders/kit/jobs/time_slices.py:LIST_WAITING procrastinate_jobs": "no second job beside a waiting one",
    "builders/kit/jobs/failed_jobs.py:list_failed procrastinate_jobs": "the operator reads failed jobs",
    "builders/kit/jobs/failed_jobs.py:list_failed procrastinate_events": "when they failed",
    "builders/kit/jobs/failed_jobs.py:count_failed procrastinate_jobs": "as above",
    "builders/kit/jobs/failed_jobs.py:_FAILED procrastinate_jobs": "as above",
    "builders/kit/jobs/failed_jobs.py:retry procrastinate_jobs": "the operator runs them again",
    "builders/kit/jobs/failed_jobs.py:discard procrastinate_jobs": "the operator deletes them",
    "builders/kit/jobs/workers.py:find_last_heartbeat procrastinate_workers": "whether a worker is alive",
    "builders/kit/jobs/workers.py:count_lanes_served procrastinate_workers": "as above",
    "builders/kit/jobs/workers.py:list_lanes procrastinate_jobs": "the operator reads what waits",
    "builders/kit/jobs/workers.py:list_lanes procrastinate_events": "since when",
    "builders/kit/jobs/queue.py:PRUNE_FAILED procrastinate_jobs": "deletes failed jobs, which the queue keeps",
    "builders/kit/jobs/queue.py:PRUNE_FAILED procrastinate_events": "as above, for the events of those jobs",
    "builders/portfolio/notifications/store.py:INSERT_NOTICES": "each row names its account",
    "builders/portfolio/registrars/store/connections.py:list_due portfolio_runs_parts": "when it was last tried",
    "builders/portfolio/registrars/store/reconcile.py:list_snapshots portfolio_runs_parts": "the last result",
    "builders/portfolio/registrars/store/holdings.py:LIST portfolio_domains": "joins both",
    "builders/portfolio/registrars/store/holdings.py:LIST_OF_PROVIDER portfolio_domains": "as above",
    "builders/portfolio/registrars/store/holdings.py:LIST_OF_DOMAIN portfolio_domains": "as above",
    **dict.fromkeys([f"{LIST}{each} portfolio_renewals_decisions" for each in LISTED], "a filter"),
    **dict.fromkeys([f"{LIST}{each} {table}" for each in LISTED for table in SUMMED], "the figures of domains"),
    **dict.fromkeys([f"{EXPIRING} {table}" for table in SUMMED], "a filter by figures"),
    **{
        f"builders/portfolio/renewals/store.py:{each} {table}": "a filter by figures"
        for each in ("DUE", "SUM_DUE")
        for table in ("portfolio_domains_figures", "portfolio_domains_outdated", *SUMMED)
    },
    **dict.fromkeys([f"{FIGURES}FIGURES {table}" for table in SUMMED], "as above"),
    **dict.fromkeys([f"{FIGURES}REFRESH {table}" for table in SUMMED if table not in RATES], "as above"),
    f"{FIGURES}write_months portfolio_ledger_entries": "as above",
    **{
        f"{LEDGER}{each} {table}": "marks what it outdates"
        for each in ("entries.py:INSERT_ENTRIES", "entries.py:void_entries", "rates.py:convert_entries")
        for table in OUTDATED
    },
    **{f"builders/portfolio/finance/store.py:{each} {OUTDATED[0]}": "as above" for each in SOLD},
    **{
        f"builders/portfolio/domains/store/domains.py:{each} portfolio_ledger_entries": "as above"
        for each in ("update", "delete")
    },
    "builders/portfolio/domains/store/domains.py:delete portfolio_billing_charges": "they lose their domain",
    f"{FIGURES}list_portfolios": "finds outdated figures of all accounts",
    "builders/portfolio/ledger/store/totals.py:LIST_TOTALS portfolio_finance_sales": "a sale ends a period",
    "builders/portfolio/imports/store.py:list_imported_later portfolio_runs": "skips undone ones",
    "builders/portfolio/imports/store.py:list_imported_later portfolio_runs_parts": "as above",
    "builders/portfolio/runs/store.py:prune_oldest": "deletes old runs of all accounts",
    **dict.fromkeys(
        (
            f"builders/forwarding/store.py:{each} aliases_lookups"
            for each in ("list_lookup_keys", "list_wrong", "repair", "lock_lookups")
        ),
        "compares what mail servers are told with the truth",
    ),
    **dict.fromkeys(
        (
            f"builders/forwarding/store.py:{each} aliases_lookups"
            for each in ("grant_table", "may_read", "list_further_tables")
        ),
        "the rights of the look-up server",
    ),
    "builders/forwarding/store.py:list_results_of_messages": "a message in the log has a queue id and no account",
    "builders/plans/approval/store.py:list_requests plans": "lists the requests whose plans wait",
}
