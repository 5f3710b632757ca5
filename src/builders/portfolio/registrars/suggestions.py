"""The message of a finding, the request that resolves it, and what only a person can do first. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from builders.portfolio.domains import names as portfolio_domain_names
from builders.portfolio.domains.errors import NameInvalid
from builders.portfolio.registrars.findings import Difference, ListedConnection, ReconcileAction
from builders.portfolio.registrars.providers import get_profile, label_of
from builders.portfolio.registrars.records import HeldStatus

DOMAINS, RENEWALS = "/v1/portfolio/domains", "/v1/portfolio/renewals/bulk"
REGISTRARS = "/v1/portfolio/registrars"
SYNC, INVENTORY = f"{REGISTRARS}/sync", f"{REGISTRARS}/inventory/import"
Snapshots = Mapping[UUID, ListedConnection]  # by the id of the connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """What a finding says, and how it is resolved."""

    message: str
    action: ReconcileAction | None = None
    manual_step: str | None = None  # that only a person can do outside; None: the action resolves the finding


Suggest = Callable[[Difference, Snapshots], Suggestion]
Action = Callable[[Difference, Snapshots], ReconcileAction | None]


def say(text: str, action: Action) -> Suggest:
    """Return a function that fills a text with the names of a finding, and suggests the action."""
    return lambda difference, snapshots: Suggestion(
        message=_fill(text, difference, snapshots), action=action(difference, snapshots)
    )


def say_manual(text: str, step: str, **after: Any) -> Suggest:
    """Return a function that says what a person does at the registrar, and suggests to list the domain after it.

    `after` are the columns of its row in the inventory after the step, for a connection that cannot be listed.
    """

    def suggest(difference: Difference, snapshots: Snapshots) -> Suggestion:
        return _manual(
            difference,
            snapshots[difference.connection_id],
            message=_fill(text, difference, snapshots),
            step=_fill(step, difference, snapshots),
            after=after,
        )

    return suggest


def _fill(text: str, difference: Difference, snapshots: Snapshots) -> str:
    held, days = snapshots[difference.connection_id], abs(difference.delta_days or 0)
    return text.format(
        domain=difference.domain,
        registrar=label_of(held.provider),
        connection=held.name,
        own=difference.portfolio_value,
        days=f"{days} day{'' if days == 1 else 's'}",
        side="earlier" if (difference.delta_days or 0) < 0 else "later",
        dropped=held.suspected_drop,
    )


def _manual(
    difference: Difference,
    held: ListedConnection,
    *,
    message: str,
    step: str,
    after: Mapping[str, Any],
    is_unsaid: bool = False,
) -> Suggestion:
    """Return the step of a person and the request after it; `is_unsaid`: no listing would show the step."""
    action = None if is_unsaid else _sync(held)
    if action is None and after:
        row = {"domain": difference.domain, **after}
        body = {"provider": held.provider, "connection": held.name, "rows": [row]}
        action = ReconcileAction(method="POST", path=INVENTORY, body=body)
    if action is None:
        step = f"{step} Then {_list_again(held)}"
    return Suggestion(message=message, action=action, manual_step=step)


def _list_again(held: ListedConnection) -> str:
    label = f"{label_of(held.provider)} ({held.name})"
    if held.is_manual:
        return f"import the domains of {label}: POST {INVENTORY}."
    return f"enable the connection {label} and sync it: POST {SYNC}."


def _sync(*snapshots: ListedConnection) -> ReconcileAction | None:
    """Return the request that lists the domains again; None where there is no API to ask."""
    providers = sorted({each.provider for each in snapshots if not each.is_manual and each.is_enabled})
    query = urlencode([("provider", each) for each in providers])
    return ReconcileAction(method="POST", path=f"{SYNC}?{query}", body=None) if providers else None


def suggest_listing(text: str) -> Suggest:
    """Return a function that fills a text, and suggests to list the domains of the connection again."""

    def suggest(difference: Difference, snapshots: Snapshots) -> Suggestion:
        held = snapshots[difference.connection_id]
        step = None
        if held.is_manual or not held.is_enabled:
            step = f"As its API is not used, {_list_again(held)}"
        elif held.has_failed:
            step = f"Correct the connection first: GET {REGISTRARS} shows why its last sync failed."
        return Suggestion(message=_fill(text, difference, snapshots), action=_sync(held), manual_step=step)

    return suggest


def suggest_adding(text: str) -> Suggest:
    """Return a function that fills a text, and suggests to add the domain as its registrar has it."""

    def suggest(difference: Difference, snapshots: Snapshots) -> Suggestion:
        message = _fill(text, difference, snapshots)
        try:
            name = portfolio_domain_names.parse_name(difference.domain or "")
        except NameInvalid:
            step = "A portfolio cannot have a domain of this name. Check it at {registrar}."
            return Suggestion(message=message, manual_step=_fill(step, difference, snapshots))
        known = {name: difference.facts.get(name) for name in ("expires_at", "auto_renew")}
        body = {"domain": name.domain, "registrar": label_of(snapshots[difference.connection_id].provider)}
        body |= {name: value for name, value in known.items() if value is not None}
        return Suggestion(message=message, action=ReconcileAction(method="POST", path=DOMAINS, body=body))

    return suggest


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
    held, domain = snapshots[difference.connection_id], difference.domain
    if difference.registrar_value == HeldStatus.PENDING_DELETE:
        message = f"{domain} is about to be released and can no longer be restored."
        return Suggestion(message=message, action=patch(difference, {"status": "dropped"}))
    step = f"Restore it at {label_of(held.provider)} before it is released."
    return _manual(difference, held, message=f"{domain} is deleted. {step}", step=step, after={})


def suggest_auto_renew(difference: Difference, snapshots: Snapshots) -> Suggestion:
    """Return how to make both settings of auto-renew the same."""
    held = snapshots[difference.connection_id]
    there, here = ("on", "off") if difference.registrar_value else ("off", "on")
    message = (
        f"Auto-renew of {difference.domain} is {there} at {label_of(held.provider)} and {here} in the portfolio."
    )
    if _can_push(held):
        return Suggestion(message=message, action=_push(difference, {"auto_renew": difference.portfolio_value}))
    return Suggestion(message=message, action=patch(difference, {"auto_renew": difference.registrar_value}))


def suggest_dropped(difference: Difference, snapshots: Snapshots) -> Suggestion:
    """Return how to prevent the renewal of a dropped domain."""
    held, domain = snapshots[difference.connection_id], difference.domain
    label, is_unsaid = label_of(held.provider), difference.facts["auto_renew"] is None
    verb = "may renew" if is_unsaid else "renews"
    message = f"{label} {verb} {domain}, which was dropped."
    if _can_push(held):
        item = {"decision": "drop", "auto_renew": False}
        return Suggestion(message=message, action=_push(difference, item))
    step, after = f"Switch auto-renew of {domain} off at {label}.", {"auto_renew": False}
    return _manual(difference, held, message=f"{message} {step}", step=step, after=after, is_unsaid=is_unsaid)


def suggest_handover(difference: Difference, snapshots: Snapshots) -> Suggestion:
    """Return how a domain that left the portfolio leaves its registrar: its new holder transfers it."""
    held, domain = snapshots[difference.connection_id], difference.domain
    label = label_of(held.provider)
    message = f"{domain} has left the portfolio, but {label} still holds it. Transfer it to its new holder."
    if held.is_manual or not held.is_enabled:
        step = f"Give the new holder the auth code of {label}."
        return _manual(difference, held, message=message, step=step, after={})
    # With the auth code the new holder transfers the domain.
    action = ReconcileAction(method="POST", path=f"{DOMAINS}/{difference.domain_id}/auth-code", body=None)
    step = f"Give the new holder the auth code. The first sync after the transfer no longer lists {domain}."
    return Suggestion(message=message, action=action, manual_step=step)


def list_holders(difference: Difference, snapshots: Snapshots) -> list[ListedConnection]:
    """Return the connections that hold a duplicate domain."""
    return [each for each in snapshots.values() if str(each.connection_id) in difference.registrar_value]


def suggest_duplicate(difference: Difference, snapshots: Snapshots) -> Suggestion:
    """Return which connections hold a domain, and how to list it again."""
    holders = list_holders(difference, snapshots)
    names = ", ".join(f"{label_of(each.provider)} ({each.name})" for each in holders)
    steps = [
        "A domain has one registrar: remove it from the account of the other one, if it still lists the domain.",
        *(f"Then {_list_again(each)}" for each in holders if _sync(each) is None),
    ]
    return Suggestion(
        message=f"{difference.domain} is listed by {names}. One of them may be out of date.",
        action=_sync(*holders),
        manual_step=" ".join(steps),
    )
