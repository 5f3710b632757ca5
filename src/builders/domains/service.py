"""The public interface of domains."""

from builders.domains.account_domains import (
    add as add,
    change as change,
    get_domain as get_domain,
    list_domains as list_domains,
    realm_of as realm_of,
    release as release,
)
from builders.domains.assignment import assign as assign, list_newest as list_newest, unassign as unassign
from builders.domains.bulk import (
    clear as clear,
    find_domains as find_domains,
    list_managed as list_managed,
    update_many as update_many,
)
from builders.domains.claimable import (
    CLAIMABLE_LIMIT as CLAIMABLE_LIMIT,
    list_claimable as list_claimable,
)
from builders.domains.errors import (
    DomainsChanged as DomainsChanged,
    KeysTaken as KeysTaken,
)
from builders.domains.verification import (
    check_due as check_due,
    verify as verify,
)
