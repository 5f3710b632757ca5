"""The public interface of the portfolio's domains."""

from builders.portfolio.domains.announcements import (
    advance_lifecycles as advance_lifecycles,
)
from builders.portfolio.domains.changes import (
    add_domain as add_domain,
    add_domains as add_domains,
    change_domain as change_domain,
    change_domains as change_domains,
    forget_connection as forget_connection,
    remove_domain as remove_domain,
    remove_domains as remove_domains,
)
from builders.portfolio.domains.domain_limit import (
    FULL_PROBLEM as FULL_PROBLEM,
    lock_capacity as lock_capacity,
)
from builders.portfolio.domains.errors import (
    DomainNotFound as DomainNotFound,
    DuplicateDomain as DuplicateDomain,
    NameInvalid as NameInvalid,
)
from builders.portfolio.domains.filters import (
    ALL_DOMAINS as ALL_DOMAINS,
    DomainFilters as DomainFilters,
    Filters as Filters,
)
from builders.portfolio.domains.lifecycle import (
    compute_drop_dates as compute_drop_dates,
    days_to_expiry as days_to_expiry,
    drop_dates as drop_dates,
    is_gtld as is_gtld,
    lifecycle_of as lifecycle_of,
)
from builders.portfolio.domains.lookups import (
    count_connections as count_connections,
    find_domains as find_domains,
    find_domains_by_id as find_domains_by_id,
    find_domains_by_label as find_domains_by_label,
    find_totals as find_totals,
    get_domain as get_domain,
    get_registry_check as get_registry_check,
    list_batch as list_batch,
    list_domains as list_domains,
    list_tags as list_tags,
    lock_domain as lock_domain,
    lock_domains as lock_domains,
    lock_for_removal as lock_for_removal,
    stream_domains as stream_domains,
)
from builders.portfolio.domains.names import (
    parse_name as parse_name,
)
from builders.portfolio.domains.registries import (
    refresh_rdap as refresh_rdap,
)
from builders.portfolio.domains.renewal_facts import (
    list_expiring as list_expiring,
    list_median_prices as list_median_prices,
    list_portfolios as list_portfolios,
    list_renewal_sums as list_renewal_sums,
)
from builders.portfolio.domains.store.filters import (
    MATCHES as MATCHES,
    filter_parameters as filter_parameters,
)
from builders.portfolio.domains.tagging import (
    change_tags as change_tags,
)
