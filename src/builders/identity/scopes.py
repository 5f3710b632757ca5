"""The catalog of scopes and the two presets (SPEC.md, "Authentication"; `write` implies `read`)."""

from collections.abc import Collection, Iterable, Mapping

from builders.identity.records import Preset, Scope
from builders.kit.http.callers import Impersonation

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
    "aliases:write": "Change where names forward to, disable and release them.",
    "invoices:read": "Read invoices.",
    "projects:read": "List and read builder projects.",
    "projects:write": "Create, change and archive builder projects.",
    "sandbox:read": "Read the sandbox status, plans and promotions.",
    "sandbox:write": "Simulate, and build plans from manifests.",
    "sandbox:promote": "Execute a reviewed plan; a live key is required.",
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


# A preset is expanded when a key is checked, so that a scope added later reaches the keys of today.
PRESETS: Mapping[Preset, frozenset[str]] = {
    Preset.DOMAINER_FULL: _of_areas(_DOMAINER) | {"sandbox:read"},
    Preset.DEVELOPER_FULL: _of_areas(_DEVELOPER),
}


def expand(scopes: Iterable[str]) -> frozenset[str]:
    """The scopes and what they imply: `area:write` holds `area:read`."""
    held = set(scopes)
    implied = {f"{scope.partition(':')[0]}:read" for scope in held if scope.endswith(":write")}
    return frozenset(held | (implied & DESCRIPTIONS.keys()))


ALL = expand(DESCRIPTIONS)
# What the account's holder does in person: whoever signs in as them must not leave with keys, names, money's
# ways or company of their own, nor with the account's news. Support's session never holds these, whatever the
# grant says.
IN_PERSON = frozenset(
    {
        *("keys:write", "sandbox:promote", "team:write", "transfers:write", "registrars:write"),
        "notifications:write",  # a webhook destination comes with its secret, and goes on telling
    }
)


def of_session(impersonation: Impersonation | None) -> frozenset[str]:
    """The scopes of who signed in: all. Of support the reading ones; if it `may_write`, all but IN_PERSON."""
    if impersonation is None:
        return ALL
    if impersonation.may_write:
        return ALL - IN_PERSON
    return frozenset(scope for scope in ALL if scope.endswith(":read"))


_ORDERED = {preset: [scope for scope in DESCRIPTIONS if scope in expand(PRESETS[preset])] for preset in Preset}


def of_preset(preset: Preset) -> list[str]:
    """The scopes of a preset in the catalog's order."""
    return list(_ORDERED[preset])


def list_scopes() -> list[Scope]:
    """Every scope, with the presets that hold it."""
    return [
        Scope(
            scope=scope,
            description=description,
            presets=[preset for preset in Preset if scope in expand(PRESETS[preset])],
        )
        for scope, description in DESCRIPTIONS.items()
    ]


def in_order(held: Collection[str]) -> list[str]:
    """The scopes in the catalog's order."""
    return [scope for scope in DESCRIPTIONS if scope in held]
