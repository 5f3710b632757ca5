"""Public interface of aliases."""

from builders.aliases.account_aliases import (
    count_aliases as count_aliases,
    count_by_domain as count_by_domain,
    count_by_project as count_by_project,
    get_alias as get_alias,
    list_aliases as list_aliases,
    list_owned as list_owned,
    release_alias as release_alias,
    update_alias as update_alias,
)
from builders.aliases.billing import (
    Reclaim as Reclaim,
    ReleaseTerms as ReleaseTerms,
    get_released_terms as get_released_terms,
    list_due_accounts as list_due_accounts,
    list_reclaims as list_reclaims,
    list_release_terms as list_release_terms,
    lock_claims as lock_claims,
    renew_aliases as renew_aliases,
    withdraw_charges as withdraw_charges,
)
from builders.aliases.claims import (
    PRUNE_BATCH as PRUNE_BATCH,
    check_availability as check_availability,
    clear_aliases as clear_aliases,
    create_aliases as create_aliases,
    expire_reservations as expire_reservations,
    lock_unchanged as lock_unchanged,
    prune_names as prune_names,
    release_aliases as release_aliases,
    release_reservations as release_reservations,
    reserve_names as reserve_names,
    settle_invoice as settle_invoice,
    update_aliases as update_aliases,
)
from builders.aliases.confirmations import (
    confirm_destination as confirm_destination,
    find_unconfirmed as find_unconfirmed,
    list_destinations as list_destinations,
    list_unconfirmed as list_unconfirmed,
    prune_confirmations as prune_confirmations,
    record_bounce as record_bounce,
    resend_confirmation as resend_confirmation,
    send_due_confirmations as send_due_confirmations,
    verify_destination as verify_destination,
)
from builders.aliases.errors import (
    AliasesChanged as AliasesChanged,
    KeysTaken as KeysTaken,
    NamesRefused as NamesRefused,
    PricesChanged as PricesChanged,
)
from builders.aliases.forwarding import (
    find_looping_names as find_looping_names,
    format_domain as format_domain,
    format_map_entry as format_map_entry,
    format_spelling_rules as format_spelling_rules,
    get_horizon as get_horizon,
    list_forwarded as list_forwarded,
    list_live_domains as list_live_domains,
    list_map_changes as list_map_changes,
    list_map_entries as list_map_entries,
    lock_forwarded as lock_forwarded,
    lock_routes as lock_routes,
    map_routes as map_routes,
)
from builders.aliases.rules.validation import validate_local_part as validate_local_part
