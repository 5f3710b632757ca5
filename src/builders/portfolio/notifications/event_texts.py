"""The sentence, the severity and the domains of a notice about a published event.

The events are those of other packages, so the sentence omits an absent member. No sentence contains money, which
some roles must not see.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from builders.portfolio.notifications.event_kinds import PUBLISHED
from builders.portfolio.notifications.records import Severity

Data = Mapping[str, Any]  # of an event
MAX_TITLE = 300  # characters
MAX_NAMED = 3  # domains or findings that a sentence names


def find_title(event: str, data: Data) -> str | None:
    """Return the sentence of a notice about an event; None when its description is to be shown."""
    write = _TITLES.get(event)
    title = None if write is None else " ".join(write(data).split())
    return title if title is None or len(title) <= MAX_TITLE else f"{title[: MAX_TITLE - 1]}…"


def severity_of(event: str, data: Data) -> Severity:
    """Return the severity of an event: of its kind, or of its data if that is higher."""
    kind, found = PUBLISHED[event].severity, data.get("severity")
    if event == "portfolio.transfer.started" and data.get("expected") is False:
        return Severity.CRITICAL
    return max(kind, Severity(found), key=lambda each: each.rank) if found in set(Severity) else kind


def domains_of(data: Data) -> Sequence[str]:
    """Return the domains that an event names."""
    if isinstance(data.get("domain"), str):
        return [data["domain"]]
    return [each for each in data.get("domains") or () if isinstance(each, str)]


def _registrar(data: Data) -> str:
    name = data.get("label") or data.get("connection") or "default"
    provider = data.get("provider") or "a registrar"
    return str(provider) if name in {"default", provider} else f"{provider} ({name})"


def _list(names: Sequence[str], count: int | None = None) -> str:
    total = len(names) if count is None else max(count, len(names))
    shown = [*names[:MAX_NAMED]]
    if total > len(shown):
        shown.append(f"{total - len(shown)} more")
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _charges(data: Data) -> str:
    count = data.get("charges", 1)
    return "1 charge" if count == 1 else f"{count} charges"


def _of_domains(data: Data) -> str:
    names = domains_of(data)
    return f" of {_list(names, data.get('domain_count'))}" if names else ""


def _credentials_invalid(data: Data) -> str:
    return (
        f"{_registrar(data)} no longer accepts the credentials of its connection. Send new ones: PUT "
        f"/v1/portfolio/registrars/{data.get('provider')}."
    )


def _restricted(data: Data) -> str:
    return f"{_registrar(data)} no longer allows the use of its API. {data.get('status_detail') or ''}"


def _sync_failed(data: Data) -> str:
    what = f"The charges of {_registrar(data)}" if data.get("kind") == "billing" else _registrar(data)
    return f"{what} could not be synced. {data.get('message') or ''} {data.get('hint') or ''}"


def _drift(data: Data) -> str:
    findings, count = data.get("findings") or (), data.get("new", 1)
    named = [
        f"{each.get('domain') or each.get('provider')} ({str(each.get('category')).replace('_', ' ')})"
        for each in findings
    ]
    providers = sorted({str(each["provider"]) for each in findings if each.get("provider")})
    what = "1 urgent difference" if count == 1 else f"{count} urgent differences"
    return (
        f"{what} between the portfolio and {_list(providers) if providers else 'its registrars'}"
        f"{': ' + _list(named, count) if named else ''}. See GET /v1/portfolio/registrars/reconcile."
    )


def _transfer_started(data: Data) -> str:
    domain = data.get("domain")
    if data.get("expected") is False:
        return (
            f"{domain} is being transferred to another registrar, and its auth code was not requested here. "
            "If you did not start the transfer, reject it at the registrar now."
        )
    where = {"in": " to your registrar", "out": " to another registrar"}.get(str(data.get("direction")), "")
    return f"The transfer of {domain}{where} has started."


def _transfer_failed(data: Data) -> str:
    return f"The transfer of {data.get('domain')} has failed. {data.get('message') or ''}"


_TITLES: Mapping[str, Callable[[Data], str]] = {
    "portfolio.registrar.connected": lambda data: f"{_registrar(data)} was connected.",
    "portfolio.registrar.disconnected": lambda data: f"{_registrar(data)} was disconnected.",
    "portfolio.registrar.credentials_invalid": _credentials_invalid,
    "portfolio.registrar.restricted": _restricted,
    "portfolio.sync.failed": _sync_failed,
    "portfolio.reconcile.drift_detected": _drift,
    "portfolio.billing.synced": lambda data: f"The charges of {_registrar(data)} were fetched.",
    "portfolio.billing.imported": lambda data: f"A file with charges of {_registrar(data)} was imported.",
    "portfolio.billing.charge_matched": lambda data: f"{_charges(data)}{_of_domains(data)} found their domains.",
    "portfolio.billing.charge_unmatched": lambda data: (
        f"{_charges(data)}{_of_domains(data)} by {_list(data.get('providers') or ['a registrar'])} "
        "could not be matched to a domain of the portfolio."
    ),
    "portfolio.billing.refund_detected": lambda data: (
        f"{_list(data.get('providers') or ['A registrar'])} refunded {_charges(data)}{_of_domains(data)}."
    ),
    "portfolio.parking.revenue_recorded": lambda data: (
        f"Parking revenue{_of_domains(data)} was recorded for {data.get('since')} to {data.get('until')}."
    ),
    "portfolio.auth_code.requested": lambda data: (
        f"The auth code of {data.get('domain')} was requested. It authorizes a transfer of the domain."
    ),
    "portfolio.transfer.started": _transfer_started,
    "portfolio.transfer.completed": lambda data: f"The transfer of {data.get('domain')} is complete.",
    "portfolio.transfer.failed": _transfer_failed,
}
