"""The message of a finding, and the request that resolves it. Pure."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from builders.portfolio.domains import names as portfolio_domain_names
from builders.portfolio.domains.errors import NameInvalid
from builders.portfolio.registrars.findings import Difference, ListedConnection, ReconcileAction
from builders.portfolio.registrars.providers import get_profile, label_of
from builders.portfolio.registrars.records import HeldStatus

DOMAINS, SYNC = "/v1/portfolio/domains", "/v1/portfolio/registrars/sync"
RENEWALS = "/v1/portfolio/renewals/bulk"
Snapshots = Mapping[UUID, ListedConnection]  # by the id of the connection
Action = Callable[[Difference, Snapshots], ReconcileAction | None]
Suggestion = tuple[str, ReconcileAction | None]


def say(text: str, action: Action) -> Callable[[Difference, Snapshots], Suggestion]:
    """Return a function that fills a text with the names of a finding, and suggests the action."""

    def suggest(difference: Difference, snapshots: Snapshots) -> Suggestion:
        held = snapshots[difference.connection_id]
        message = text.format(
            domain=difference.domain,
            registrar=label_of(held.provider),
            connection=held.name,
            own=difference.portfolio_value,
            days=abs(difference.delta_days or 0),
            side="earlier" if (difference.delta_days or 0) < 0 else "later",
            dropped=held.suspected_drop,
        )
        return message, action(difference, snapshots)

    return suggest


def sync(difference: Difference, snapshots: Snapshots) -> ReconcileAction | None:
    """Return the request that lists the domains of the connection again."""
    return _sync(snapshots[difference.connection_id])


def _sync(*snapshots: ListedConnection) -> ReconcileAction | None:
    """Return the request that lists the domains again; None where there is no API to ask."""
    providers = sorted({each.provider for each in snapshots if not each.is_manual and each.is_enabled})
    query = urlencode([("provider", each) for each in providers])
    return ReconcileAction(method="POST", path=f"{SYNC}?{query}", body=None) if providers else None


def add(difference: Difference, snapshots: Snapshots) -> ReconcileAction | None:
    """Return the request that adds a domain as its registrar has it; None for a name that cannot be added."""
    try:
        name = portfolio_domain_names.parse_name(difference.domain or "")
    except NameInvalid:
        return None
    known = {name: difference.facts.get(name) for name in ("expires_at", "auto_renew")}
    body = {"domain": name.domain, "registrar": label_of(snapshots[difference.connection_id].provider)}
    body |= {name: value for name, value in known.items() if value is not None}
    return ReconcileAction(method="POST", path=DOMAINS, body=body)


def patch(difference: Difference, body: dict[str, Any]) -> ReconcileAction:
    """Return the request that changes the domain."""
    return ReconcileAction(method="PATCH", path=f"{DOMAINS}/{difference.domain_id}", body=body)


def _push(difference: Difference, item: Mapping[str, Any]) -> ReconcileAction:
    row = {"domain_id": str(difference.domain_id), **item}
    return ReconcileAction(method="PATCH", path=RENEWALS, body={"items": [row], "push_to_registrar": True})


def _can_push(snapshot: ListedConnection) -> bool:
    return snapshot.is_enabled and get_profile(snapshot.provider).capabilities.set_auto_renew


def suggest_in_redemption(difference: Difference, snapshots: Snapshots) -> Suggestion:
    """Return what to do about a deleted domain."""
    held = snapshots[difference.connection_id]
    if difference.registrar_value == HeldStatus.PENDING_DELETE:
        message = f"{difference.domain} is about to be released and can no longer be restored."
        return message, patch(difference, {"status": "dropped"})
    message = f"{difference.domain} is deleted. Restore it at {label_of(held.provider)} before it is released."
    return message, _sync(held)


def suggest_auto_renew(difference: Difference, snapshots: Snapshots) -> Suggestion:
    """Return how to make both settings of auto-renew the same."""
    held = snapshots[difference.connection_id]
    there, here = ("on", "off") if difference.registrar_value else ("off", "on")
    message = (
        f"Auto-renew of {difference.domain} is {there} at {label_of(held.provider)} and {here} in the portfolio."
    )
    if _can_push(held):
        return message, _push(difference, {"auto_renew": difference.portfolio_value})
    return message, patch(difference, {"auto_renew": difference.registrar_value})


def suggest_dropped(difference: Difference, snapshots: Snapshots) -> Suggestion:
    """Return how to prevent the renewal of a dropped domain."""
    held = snapshots[difference.connection_id]
    label = label_of(held.provider)
    if difference.facts["auto_renew"] and _can_push(held):
        message = f"{label} renews {difference.domain}, which was dropped."
        return message, _push(difference, {"decision": "drop", "auto_renew": False})
    message = f"{label} may renew {difference.domain}, which was dropped. Switch auto-renew off there."
    return message, _sync(held) or patch(difference, {"status": "owned"})


def list_holders(difference: Difference, snapshots: Snapshots) -> list[ListedConnection]:
    """Return the connections that hold a duplicate domain."""
    return [each for each in snapshots.values() if str(each.connection_id) in difference.registrar_value]


def suggest_duplicate(difference: Difference, snapshots: Snapshots) -> Suggestion:
    """Return which connections hold a domain, and how to list it again."""
    holders = list_holders(difference, snapshots)
    names = ", ".join(f"{label_of(each.provider)} ({each.name})" for each in holders)
    return f"{difference.domain} is listed by {names}. One of them may be out of date.", _sync(*holders)
