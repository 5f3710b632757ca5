"""The permissions of each role. The table is in docs/reference/team-roles.md, generated from here."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from builders.portfolio.team.records import PERMISSIONS, Permission, TeamRole

DESCRIPTIONS: Mapping[Permission, str] = MappingProxyType(
    {
        Permission.VIEW: "See domains, renewals, reconcile reports and transfers.",
        Permission.VIEW_FINANCE: "See prices, costs, income, parking revenue and charges.",
        Permission.EDIT: "Add, change, import and delete domains, decide on renewals, run a sync.",
        Permission.EDIT_FINANCE: "Record ledger entries, renewals and revenue; import and apply charges.",
        Permission.DELETE_HISTORY: "Delete a domain with its ledger entries and its sale.",
        Permission.MANAGE_REGISTRARS: "Connect and disconnect registrars.",
        Permission.REQUEST_AUTH_CODES: "Request the auth code of a domain.",
        Permission.MANAGE_TEAM: "Invite and remove members and change their roles.",
        Permission.SET_OWN_NOTIFICATIONS: "Set one's own notification preferences.",
    }
)
_RANKS = {role: rank for rank, role in enumerate(TeamRole)}


def list_permissions(role: TeamRole) -> Sequence[Permission]:
    """Return the permissions of a role, in the order of the table."""
    return [each for each in Permission if each in PERMISSIONS[role]]


def describe() -> Iterator[Sequence[str]]:
    """Yield the rows of the table in the docs: permission, meaning, and `yes` for each role that holds it."""
    for each, meaning in DESCRIPTIONS.items():
        yield (f"`{each}`", meaning, *("yes" if each in held else "" for held in PERMISSIONS.values()))


def may_assign(actor: TeamRole, *, role: TeamRole) -> bool:
    """Return whether a role may grant or revoke another: it must manage the team and have at least that rank."""
    return Permission.MANAGE_TEAM in PERMISSIONS[actor] and _RANKS[actor] <= _RANKS[role]
