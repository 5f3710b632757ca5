"""The door of aliases."""

from builders.aliases import (
    arrears,
    asking,
    circles,
    claiming,
    clearing,
    errors,
    exporting,
    forwarding,
    local_parts,
    owning,
    periods,
    postfix,
    renewals,
    routing,
    rows,
    turns,
)

judge = local_parts.judge
NamesRefused = errors.NamesRefused
AliasesChanged = errors.AliasesChanged
KeysTaken = errors.KeysTaken
PricesChanged = errors.PricesChanged
Claim = rows.Claim
Reclaim = periods.Reclaim
ReleaseTerms = periods.ReleaseTerms
PRUNED_AT_ONCE = claiming.PRUNED_AT_ONCE
mask = claiming.mask
endless, routes_of = circles.endless, circles.routes_of
lock_routes, list_ahead, keep_ahead = routing.lock_routes, routing.list_ahead, routing.keep_ahead

# In sets, for those above who claim.
look_up, hold, let_go, create = claiming.look_up, claiming.hold, claiming.let_go, claiming.create
update, release, list_aliases = claiming.update, claiming.release, claiming.list_aliases
count_by_project, count_by_domain = claiming.count_by_project, claiming.count_by_domain
prune, end_kept, lock_unchanged = claiming.prune, claiming.end_kept, claiming.lock_unchanged
clear, count = clearing.clear, clearing.count
list_reclaims, list_release_terms = periods.list_reclaims, periods.list_release_terms
withdraw_charges, lock_claims = periods.withdraw_charges, periods.lock_claims
get_released_terms = periods.get_released_terms

# One by one, for their owners.
list_owned, get, change, give_up = owning.list_owned, owning.get, owning.change, owning.give_up
list_unconfirmed = forwarding.list_unconfirmed
list_destinations, resend = turns.list_destinations, asking.resend
find_question, confirm = asking.find_question, asking.confirm
ask_due, verify_destination = asking.ask_due, asking.verify
note_bounced, prune_destinations = asking.note_bounced, asking.prune

# By themselves, and for a mail server.
list_due_accounts, renew, settle = renewals.list_due, renewals.renew, arrears.settle
find_horizon, list_all, list_changes = exporting.find_horizon, exporting.list_all, exporting.list_changes
list_domains = exporting.list_domains
map_lines, domain_line, spelling_lines = postfix.map_lines, postfix.domain_line, postfix.spelling_lines
