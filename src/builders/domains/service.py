"""The door of domains."""

from uuid import UUID

from builders.aliases.records import LIVE
from builders.domains.account_domains import (
    add as add,
    change as change,
    get_domain as get_domain,
    list_domains as list_domains,
    release as release,
)
from builders.domains.assignment import assign as assign, list_newest as list_newest, unassign as unassign
from builders.domains.bulk import (
    find_domains as find_domains,
    list_managed as list_managed,
    update_many as update_many,
)
from builders.domains.claimable import (
    CLAIMABLE_AT_ONCE as CLAIMABLE_AT_ONCE,
    list_claimable as list_claimable,
)
from builders.domains.clearing import (
    clear as clear,
)
from builders.domains.errors import (
    DomainsChanged as DomainsChanged,
    KeysTaken as KeysTaken,
)
from builders.domains.verification import check_due as check_due, verify as verify

# In sets, for manifests.
# The operator's.
# What callers of the door may have to meet.


def realm_of(account_id: UUID, *, is_live: bool) -> UUID:
    """Where the domains of an account are held apart from others': sandbox twins have a realm of their own."""
    return LIVE if is_live else account_id
