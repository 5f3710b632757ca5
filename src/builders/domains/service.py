"""The door of domains."""

from uuid import UUID

from builders.aliases.records import LIVE
from builders.domains import adding, applying, claimable, clearing, errors, operating, proving

add, get_domain, list_domains = adding.add, adding.show, adding.list_domains
change, release = adding.change, adding.release
verify, check_due = proving.verify, proving.check_due
CLAIMABLE_AT_ONCE, list_claimable = claimable.MOST, claimable.list_claimable
# In sets, for manifests.
find_domains, list_managed, update_many = applying.find_domains, applying.list_managed, applying.update_many
clear = clearing.clear  # of a sandbox, when it is reset
# The operator's.
assign, unassign, list_newest = operating.assign, operating.unassign, operating.list_newest
# What callers of the door may have to meet.
DomainsChanged, KeysTaken = errors.DomainsChanged, errors.KeysTaken


def realm_of(account_id: UUID, *, is_live: bool) -> UUID:
    """Where the domains of an account are held apart from others': sandbox twins have a realm of their own."""
    return LIVE if is_live else account_id
