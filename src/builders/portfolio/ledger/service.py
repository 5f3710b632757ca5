"""The public interface of the ledger."""

from builders.portfolio.ledger.currencies import (
    convert_entries as convert_entries,
    get_base_currency as get_base_currency,
    list_awaiting as list_awaiting,
    lock_base_currency as lock_base_currency,
    require_quoted as require_quoted,
    set_base_currency as set_base_currency,
)
from builders.portfolio.ledger.entries import (
    get_statement as get_statement,
    list_capacity as list_capacity,
    list_entries as list_entries,
    list_entries_by_domain as list_entries_by_domain,
    list_totals as list_totals,
    post_entries as post_entries,
    require_recorded as require_recorded,
    void_domains as void_domains,
    void_entries as void_entries,
    void_references as void_references,
)
from builders.portfolio.ledger.errors import EntryLimitReached as EntryLimitReached
from builders.portfolio.ledger.holdings import (
    count_same as count_same,
    list_kind_totals as list_kind_totals,
    list_last_renewals as list_last_renewals,
    list_last_sales as list_last_sales,
    list_like as list_like,
)
from builders.portfolio.ledger.likeness import Likeness as Likeness
from builders.portfolio.ledger.rates import (
    fetch_rates as fetch_rates,
    find_newest_day as find_newest_day,
    list_rates as list_rates,
    load_installed_rates as load_installed_rates,
    load_rates as load_rates,
)
from builders.portfolio.ledger.references import (
    acquisition_reference as acquisition_reference,
    given_reference as given_reference,
    renewal_reference as renewal_reference,
    require_given as require_given,
    shown_reference as shown_reference,
)
from builders.portfolio.ledger.sums import (
    add_up as add_up,
    group_by_period as group_by_period,
    list_kind_sums as list_kind_sums,
)
