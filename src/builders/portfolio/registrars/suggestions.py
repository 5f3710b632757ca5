"""Build the message of a finding, and the request that resolves it. Pure."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from builders.portfolio.domains import names as domain_names
from builders.portfolio.domains.errors import NameInvalid
from builders.portfolio.registrars.findings import (
    Difference,
    Finding,
    FindingCategory,
    ListedConnection,
    SuggestedAction,
)
from builders.portfolio.registrars.providers import get_profile
from builders.portfolio.registrars.records import HeldStatus
from builders.portfolio.registrars.registrar_names import label_of

DOMAINS, SYNC = "/v1/portfolio/domains", "/v1/portfolio/registrars/sync"
RENEWALS = "/v1/portfolio/renewals/bulk"
Snapshots = Mapping[Any, ListedConnection]  # by the id of the connection
Suggestion = tuple[str, SuggestedAction | None]


def make_finding(difference: Difference, *, snapshots: Snapshots, shows_finance: bool) -> Finding:
    """Return a difference with its message and suggestion; without finance neither contains money."""
    snapshot = snapshots[difference.connection_id]
    message, action = _SUGGESTIONS[difference.category](difference, snapshots)
    if difference.category is FindingCategory.PRICE_CHANGED and not shows_finance:
        action = None
    return Finding(
        difference=difference,
        portfolio_value=_portfolio_value(difference, shows_finance=shows_finance),
        registrar_value=_registrar_value(difference, snapshots, shows_finance=shows_finance),
        snapshot=snapshot,
        message=message,
        suggested_action=action,
        dashboard_url=get_profile(snapshot.provider).dashboard_url,
    )


def _portfolio_value(difference: Difference, *, shows_finance: bool) -> Any:
    is_hidden = difference.category is FindingCategory.PRICE_CHANGED and not shows_finance
    return None if is_hidden else difference.portfolio_value


def _registrar_value(difference: Difference, snapshots: Snapshots, *, shows_finance: bool) -> Any:
    match difference.category:
        case FindingCategory.PRICE_CHANGED if not shows_finance:
            return None
        case FindingCategory.DUPLICATE_ACROSS_REGISTRARS:
            return [each.provider for each in _holders(difference, snapshots)]
        case FindingCategory.REGISTRAR_MISMATCH:
            return label_of(snapshots[difference.connection_id].provider)
        case _:
            return difference.registrar_value


def _holders(difference: Difference, snapshots: Snapshots) -> list[ListedConnection]:
    return [each for each in snapshots.values() if str(each.connection_id) in difference.registrar_value]


def _sync(*snapshots: ListedConnection) -> SuggestedAction | None:
    """Return the request that lists the domains again; None where there is no API to ask."""
    providers = sorted({each.provider for each in snapshots if not each.is_manual and each.is_enabled})
    query = urlencode([("provider", each) for each in providers])
    return SuggestedAction(method="POST", path=f"{SYNC}?{query}", body=None) if providers else None


def _patch(difference: Difference, body: Mapping[str, Any]) -> SuggestedAction:
    return SuggestedAction(method="PATCH", path=f"{DOMAINS}/{difference.domain_id}", body=body)


def _push(difference: Difference, item: Mapping[str, Any]) -> SuggestedAction:
    row = {"domain_id": str(difference.domain_id), **item}
    return SuggestedAction(method="PATCH", path=RENEWALS, body={"items": [row], "push_to_registrar": True})


def _can_push(snapshot: ListedConnection) -> bool:
    return snapshot.is_enabled and get_profile(snapshot.provider).capabilities.set_auto_renew


def _add(difference: Difference, snapshot: ListedConnection) -> SuggestedAction | None:
    """Return the request that adds a domain as its registrar has it; None for a name that cannot be added."""
    try:
        name = domain_names.parse_name(difference.domain or "")
    except NameInvalid:
        return None
    known = {name: difference.facts.get(name) for name in ("expires_at", "auto_renew")}
    body = {"domain": name.domain, "registrar": label_of(snapshot.provider)}
    body |= {name: value for name, value in known.items() if value is not None}
    return SuggestedAction(method="POST", path=DOMAINS, body=body)


def _pending_transfer_out(found: Difference, snapshots: Snapshots) -> Suggestion:
    held = snapshots[found.connection_id]
    message = (
        f"{found.domain} is being transferred from {label_of(held.provider)} to another registrar, and its "
        "auth code was not requested here. If you did not start the transfer, reject it there now."
    )
    return message, _sync(held)


def _redemption(found: Difference, snapshots: Snapshots) -> Suggestion:
    held = snapshots[found.connection_id]
    if found.registrar_value == HeldStatus.PENDING_DELETE:
        message = f"{found.domain} is about to be released and can no longer be restored."
        return message, _patch(found, {"status": "dropped"})
    return f"{found.domain} is deleted. Restore it at {label_of(held.provider)} before it is released.", _sync(
        held
    )


def _expired(found: Difference, snapshots: Snapshots) -> Suggestion:
    held = snapshots[found.connection_id]
    return f"{found.domain} has expired. Renew it at {label_of(held.provider)} to keep it.", _sync(held)


def _missing_at_registrar(found: Difference, snapshots: Snapshots) -> Suggestion:
    held = snapshots[found.connection_id]
    is_expired = found.facts["is_expired"]
    message = f"Neither {label_of(held.provider)} nor another connected registrar holds {found.domain}."
    return message, _patch(found, {"status": "dropped" if is_expired else "transferred_out"})


def _expiry(found: Difference, snapshots: Snapshots) -> Suggestion:
    held, days = snapshots[found.connection_id], found.delta_days or 0
    side = "earlier" if days < 0 else "later"
    message = f"At {label_of(held.provider)} {found.domain} expires {abs(days)} days {side} than in the portfolio."
    return message, _patch(found, {"expires_at": found.registrar_value})


def _auto_renew(found: Difference, snapshots: Snapshots) -> Suggestion:
    held = snapshots[found.connection_id]
    there, here = ("on", "off") if found.registrar_value else ("off", "on")
    message = f"Auto-renew of {found.domain} is {there} at {label_of(held.provider)} and {here} in the portfolio."
    if _can_push(held):
        return message, _push(found, {"auto_renew": found.portfolio_value})
    return message, _patch(found, {"auto_renew": found.registrar_value})


def _dropped(found: Difference, snapshots: Snapshots) -> Suggestion:
    held = snapshots[found.connection_id]
    if found.facts["auto_renew"] and _can_push(held):
        message = f"{label_of(held.provider)} renews {found.domain}, which was dropped."
        return message, _push(found, {"decision": "drop", "auto_renew": False})
    message = (
        f"{label_of(held.provider)} may renew {found.domain}, which was dropped. Switch auto-renew off there."
    )
    return message, _sync(held) or _patch(found, {"status": "owned"})


def _sold(found: Difference, snapshots: Snapshots) -> Suggestion:
    held = snapshots[found.connection_id]
    message = (
        f"{found.domain} has left the portfolio, but {label_of(held.provider)} still holds it. Transfer it to its "
        "new holder."
    )
    return message, SuggestedAction(method="POST", path=f"{DOMAINS}/{found.domain_id}/auth-code", body=None)


def _duplicate(found: Difference, snapshots: Snapshots) -> Suggestion:
    holders = _holders(found, snapshots)
    names = ", ".join(f"{label_of(each.provider)} ({each.name})" for each in holders)
    return f"{found.domain} is listed by {names}. One of them may be out of date.", _sync(*holders)


def _registrar(found: Difference, snapshots: Snapshots) -> Suggestion:
    held = label_of(snapshots[found.connection_id].provider)
    message = f"The portfolio names {found.portfolio_value} as registrar of {found.domain}, but {held} holds it."
    return message, _patch(found, {"registrar": held})


def _idn(found: Difference, snapshots: Snapshots) -> Suggestion:
    held = snapshots[found.connection_id]
    message = (
        f"{label_of(held.provider)} holds {found.domain}, and the portfolio has {found.portfolio_value}, another "
        "form of the name. Add the form that is registered, then remove the other one."
    )
    return message, _add(found, held)


def _missing_in_portfolio(found: Difference, snapshots: Snapshots) -> Suggestion:
    held = snapshots[found.connection_id]
    message = f"{label_of(held.provider)} holds {found.domain}, which the portfolio does not have."
    return message, _add(found, held)


def _stale(found: Difference, snapshots: Snapshots) -> Suggestion:
    held = snapshots[found.connection_id]
    message = f"The domains at {label_of(held.provider)} ({held.name}) were last listed too long ago."
    return message, _sync(held)


def _suspicious_drop(found: Difference, snapshots: Snapshots) -> Suggestion:
    held = snapshots[found.connection_id]
    message = (
        f"The last listing of {label_of(held.provider)} ({held.name}) did not have {held.suspected_drop} domains "
        "that it held before. They count as held until the next complete listing does not have them either."
    )
    return message, _sync(held)


def _price(found: Difference, snapshots: Snapshots) -> Suggestion:
    held = label_of(snapshots[found.connection_id].provider)
    message = f"{held} renews {found.domain} for another price than the portfolio has."
    return message, _patch(found, {"renewal_price": found.registrar_value})


def _lock(found: Difference, snapshots: Snapshots) -> Suggestion:
    held = snapshots[found.connection_id]
    return f"The transfer lock of {found.domain} is off. Switch it on at {label_of(held.provider)}.", _sync(held)


def _privacy(found: Difference, snapshots: Snapshots) -> Suggestion:
    held = snapshots[found.connection_id]
    return f"The privacy of {found.domain} is off. Switch it on at {label_of(held.provider)}.", _sync(held)


_SUGGESTIONS: Mapping[FindingCategory, Callable[[Difference, Snapshots], Suggestion]] = {
    FindingCategory.PENDING_TRANSFER_OUT_UNEXPECTED: _pending_transfer_out,
    FindingCategory.REDEMPTION: _redemption,
    FindingCategory.EXPIRED_AT_REGISTRAR: _expired,
    FindingCategory.MISSING_AT_REGISTRAR: _missing_at_registrar,
    FindingCategory.EXPIRY_MISMATCH: _expiry,
    FindingCategory.AUTO_RENEW_MISMATCH: _auto_renew,
    FindingCategory.DROPPED_BUT_ACTIVE: _dropped,
    FindingCategory.SOLD_BUT_STILL_HELD: _sold,
    FindingCategory.DUPLICATE_ACROSS_REGISTRARS: _duplicate,
    FindingCategory.REGISTRAR_MISMATCH: _registrar,
    FindingCategory.IDN_FORM_MISMATCH: _idn,
    FindingCategory.MISSING_IN_PORTFOLIO: _missing_in_portfolio,
    FindingCategory.STALE_SNAPSHOT: _stale,
    FindingCategory.PRICE_CHANGED: _price,
    FindingCategory.LOCK_OFF: _lock,
    FindingCategory.PRIVACY_OFF: _privacy,
    FindingCategory.SUSPICIOUS_DROP: _suspicious_drop,
}
