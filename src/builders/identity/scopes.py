"""The scopes and the two presets (SPEC.md, "Authentication"). `area:write` implies `area:read`."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from builders.identity.records import Preset, Scope
from builders.kit.callers import APPROVE, Impersonation
from builders.kit.mandates import Mandate, Toolset, toolset_of

MAIL = "mail:read"  # in no preset
DESCRIPTIONS: Mapping[str, str] = {
    "account:read": "Read the profile, the session and the email verification status.",
    "account:write": "Change the profile and send the verification message again.",
    "keys:read": "List API keys and the catalog of scopes.",
    "keys:write": "Mint, rotate and revoke API keys.",
    "notifications:read": "List webhook destinations and deliveries.",
    "notifications:write": "Create and change webhook destinations, retry deliveries.",
    "domains:read": "List account domains and the domains on which names can be claimed.",
    "domains:write": "Add, verify and release account domains.",
    "aliases:read": "List the account's names.",
    "aliases:write": "Change the destinations of names, disable and release names.",
    MAIL: "Read the content of mail that a name receives as events: only the key or connection that a person "
    "named for the name, and the person.",
    "invoices:read": "Read invoices.",
    "projects:read": "List and read builder projects.",
    "projects:write": "Create, change and archive builder projects.",
    "sandbox:read": "Read the sandbox status, plans and promotions.",
    "sandbox:write": "Simulate, and build plans from manifests.",
    "sandbox:promote": "Execute a reviewed plan; a live key is required.",
    APPROVE: "Decide on plans, and on machines that ask for keys: only a person who has signed in with a browser.",
    "portfolio:read": "Read portfolio domains, finance, renewals and parking.",
    "portfolio:write": "Change portfolio domains, finance, renewals and parking.",
    "registrars:read": "Read registrar connections, inventory and charges.",
    "registrars:write": "Connect registrars, sync inventory and billing.",
    "transfers:write": "Request the auth code of a domain.",
    "team:read": "See the portfolio team.",
    "team:write": "Invite, change and remove members of the portfolio team.",
}

_BOTH = ("account", "keys", "notifications", "domains")
_DEVELOPER = (*_BOTH, "aliases", "invoices", "projects", "sandbox")
_DOMAINER = (*_BOTH, "invoices", "portfolio", "registrars", "transfers", "team")


def _of_areas(areas: Iterable[str]) -> frozenset[str]:
    wanted = set(areas)
    return frozenset(scope for scope in DESCRIPTIONS if scope.partition(":")[0] in wanted)


# Presets are expanded when a key is verified: a new scope also applies to existing keys.
PRESETS: Mapping[Preset, frozenset[str]] = {
    Preset.DOMAINER_FULL: _of_areas(_DOMAINER) | {"sandbox:read"},
    Preset.DEVELOPER_FULL: _of_areas(_DEVELOPER),
}


def expand(scopes: Iterable[str]) -> frozenset[str]:
    """Return the scopes and those that they imply."""
    held = set(scopes)
    implied = {f"{scope.partition(':')[0]}:read" for scope in held if scope.endswith(":write")}
    return frozenset(held | (implied & DESCRIPTIONS.keys()))


ALL = expand(DESCRIPTIONS) - {APPROVE, MAIL}  # of a token
OF_PEOPLE = ALL | {APPROVE, MAIL}
# Only the account's owner may do these. A support session never has them, even when its grant allows writes: it
# must not obtain keys, names or auth codes, change the team or the registrars, or receive the account's events.
OWNER_ONLY = frozenset(
    {
        *("keys:write", "sandbox:promote", "team:write", "transfers:write", "registrars:write"),
        "notifications:write",  # a new webhook destination gets a secret, and events after the session
    }
)


def of_key(preset: Preset, *, reads_mail: bool, removed: Collection[str] = ()) -> frozenset[str]:
    """Return the scopes of a key, without those that a person removed."""
    held = expand(PRESETS[preset]).difference(removed)
    return held | {MAIL} if reads_mail else held


def of_mandate(mandate: Mandate) -> list[str]:
    """Return the scopes of a connection: those of its toolsets. The mandate refuses what has authority."""
    return [scope for scope in DESCRIPTIONS if scope in ALL and toolset_of(scope) in mandate.toolsets]


def of_connection(mandate: Mandate, *, reads_mail: bool, removed: Collection[str]) -> frozenset[str]:
    """Return the scopes of a connection, without those that a person removed."""
    held = frozenset(of_mandate(mandate)).difference(removed)
    return held | {MAIL} if reads_mail else held


def session_scopes(impersonation: Impersonation | None) -> frozenset[str]:
    """Return the scopes of a session: all for the owner; for support the read scopes, or all but OWNER_ONLY."""
    if impersonation is None:
        return ALL
    if impersonation.may_write:
        return ALL - OWNER_ONLY
    return frozenset(scope for scope in ALL if scope.endswith(":read"))


# By the text of a column, in the sequence of DESCRIPTIONS.
PRESET_SCOPES: Mapping[str, Sequence[str]] = {
    preset: [scope for scope in DESCRIPTIONS if scope in expand(PRESETS[preset])] for preset in Preset
}
# By the preset of a key, and by the toolset of a connection.
BY_AREA: Mapping[str, Sequence[str]] = {
    **PRESET_SCOPES,
    **{each: [scope for scope in DESCRIPTIONS if scope in ALL and toolset_of(scope) is each] for each in Toolset},
}
CATALOG = [
    Scope(
        scope=scope, description=meaning, presets=[preset for preset in Preset if scope in PRESET_SCOPES[preset]]
    )
    for scope, meaning in DESCRIPTIONS.items()
]


def sort_scopes(held: Collection[str]) -> list[str]:
    """Return the scopes, sorted as in DESCRIPTIONS."""
    return [scope for scope in DESCRIPTIONS if scope in held]
