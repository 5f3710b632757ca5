"""Replies about suspicious drops."""

from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import quote

from pydantic import Field

from builders.kit.http.bodies import Reply

SYNC = "/v1/portfolio/registrars/sync"


class SuspiciousDrop(Reply):
    """Domains that the last listing did not have, and that are kept until the next one confirms it."""

    code: Annotated[Literal["suspicious_drop"], Field(description="Always `suspicious_drop`.")] = "suspicious_drop"
    domains: Annotated[int, Field(description="Number of domains that are held back.")]
    since: Annotated[datetime | None, Field(description="Time of the listing that did not have them.")]
    message: Annotated[str, Field(description="What happened, as a sentence.")]
    next_action: Annotated[str, Field(description="What to do.")]


def drop_reply(domains: int, *, provider: str, since: datetime | None) -> SuspiciousDrop | None:
    """Return the drop of a connection; None without one."""
    if not domains:
        return None
    name = quote(provider)
    return SuspiciousDrop(
        domains=domains,
        since=since,
        message=(
            f"The last listing did not have {domains} domains that the registrar held before. They are not marked "
            "missing until the next complete listing does not have them either."
        ),
        next_action=(
            f"Compare with the registrar's website. To list again: POST {SYNC}?provider={name}. "
            f"If the domains are gone: POST {SYNC}?provider={name}&confirm_drop=true."
        ),
    )
