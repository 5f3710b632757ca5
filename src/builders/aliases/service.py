"""The door of aliases."""

from builders.aliases.arrears import (
    settle as settle,
)
from builders.aliases.asking import (
    ask_due as ask_due,
    confirm as confirm,
    find_question as find_question,
    note_bounced as note_bounced,
    prune_destinations as prune_destinations,
    resend as resend,
    verify_destination as verify_destination,
)
from builders.aliases.circles import (
    endless as endless,
    routes_of as routes_of,
)
from builders.aliases.claiming import (
    PRUNED_AT_ONCE as PRUNED_AT_ONCE,
    count_by_domain as count_by_domain,
    count_by_project as count_by_project,
    create as create,
    end_kept as end_kept,
    hold as hold,
    let_go as let_go,
    list_aliases as list_aliases,
    lock_unchanged as lock_unchanged,
    look_up as look_up,
    prune as prune,
    release as release,
    update as update,
)
from builders.aliases.clearing import (
    clear as clear,
    count as count,
)
from builders.aliases.errors import (
    AliasesChanged as AliasesChanged,
    KeysTaken as KeysTaken,
    NamesRefused as NamesRefused,
    PricesChanged as PricesChanged,
)
from builders.aliases.exporting import (
    find_horizon as find_horizon,
    list_all as list_all,
    list_changes as list_changes,
    list_domains as list_domains,
)
from builders.aliases.forwarding import (
    list_unconfirmed as list_unconfirmed,
)
from builders.aliases.local_parts import (
    judge as judge,
)
from builders.aliases.owning import (
    change as change,
    get as get,
    give_up as give_up,
    list_owned as list_owned,
)
from builders.aliases.periods import (
    Reclaim as Reclaim,
    ReleaseTerms as ReleaseTerms,
    get_released_terms as get_released_terms,
    list_reclaims as list_reclaims,
    list_release_terms as list_release_terms,
    lock_claims as lock_claims,
    withdraw_charges as withdraw_charges,
)
from builders.aliases.postfix import (
    domain_line as domain_line,
    map_lines as map_lines,
    spelling_lines as spelling_lines,
)
from builders.aliases.renewals import (
    list_due_accounts as list_due_accounts,
    renew as renew,
)
from builders.aliases.routing import (
    keep_ahead as keep_ahead,
    list_ahead as list_ahead,
    lock_routes as lock_routes,
)
from builders.aliases.rows import (
    Claim as Claim,
)
from builders.aliases.turns import (
    list_destinations as list_destinations,
)


# In sets, for those above who claim.

# One by one, for their owners.

# By themselves, and for a mail server.
