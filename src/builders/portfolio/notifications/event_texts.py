"""The sentence of a notice about a published event, by a text with fields or by a function of the event's data.

The events are those of other packages, so a sentence omits an absent member. No sentence contains money, which
some roles must not see.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Data = Mapping[str, Any]  # of an event
Title = str | Callable[[Data], str]
MAX_TITLE = 300  # characters
MAX_NAMED = 3  # domains or findings that a sentence names


class _Fields(dict[str, Any]):
    """The members of an event, and what a text says about several of them; an absent member is empty."""

    def __missing__(self, name: str) -> str:
        return ""


def write_title(title: Title, data: Data) -> str:
    """Return the sentence of a notice about an event with this data."""
    if callable(title):
        text = title(data)
    else:
        charges = data.get("charges", 1)
        names = domains_of(data)
        known = {name: value for name, value in data.items() if value is not None}
        text = title.format_map(
            _Fields(
                {
                    **known,
                    "registrar": _registrar(data),
                    "registrars": _list(data.get("providers") or ["a registrar"]),
                    "charges": "1 charge" if charges == 1 else f"{charges} charges",
                    "of_domains": f" of {_list(names, data.get('domain_count'))}" if names else "",
                }
            )
        )
    text = " ".join(text.split())
    return text if len(text) <= MAX_TITLE else f"{text[: MAX_TITLE - 1]}…"


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


def sync_failed(data: Data) -> str:
    """Return the sentence about a sync of domains or charges that failed."""
    what = f"The charges of {_registrar(data)}" if data.get("kind") == "billing" else _registrar(data)
    return f"{what} could not be synced. {data.get('message') or ''} {data.get('hint') or ''}"


def drift(data: Data) -> str:
    """Return the sentence about new differences between the portfolio and its registrars."""
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


def transfer_started(data: Data) -> str:
    """Return the sentence about a transfer; one that is not expected may be theft."""
    domain = data.get("domain")
    if data.get("expected") is False:
        return (
            f"{domain} is being transferred to another registrar, and its auth code was not requested here. "
            "If you did not start the transfer, reject it at the registrar now."
        )
    where = {"in": " to your registrar", "out": " to another registrar"}.get(str(data.get("direction")), "")
    return f"The transfer of {domain}{where} has started."
