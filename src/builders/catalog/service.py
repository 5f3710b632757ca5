"""The public interface of the catalog."""

from builders.catalog.availability import (
    NameDecision as NameDecision,
    check_availability as check_availability,
    decide_name as decide_name,
    describe_reason as describe_reason,
    find_domains as find_domains,
)
from builders.catalog.catalog_file.loader import load as load
from builders.catalog.funnel import (
    Funnel as Funnel,
    prune_event_keys as prune_event_keys,
    rank_popularity as rank_popularity,
    report_funnel as report_funnel,
    roll_up as roll_up,
)
from builders.catalog.snapshot import (
    CatalogCache as CatalogCache,
    Snapshot as Snapshot,
    get_domain as get_domain,
    list_claimable as list_claimable,
    list_domains as list_domains,
)
from builders.catalog.suggestions import suggest_names as suggest_names
from builders.kit.values.domain_names import find_a_label as find_a_label
