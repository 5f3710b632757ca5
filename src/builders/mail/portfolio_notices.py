"""The email about a portfolio: domains that expire, and other events."""

from dataclasses import dataclass
from datetime import date
from typing import ClassVar

from builders.mail.records import Category, Letter, Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewal:
    """A domain that renews or expires soon."""

    domain: str
    expires_on: date
    days: int  # until then; negative when it is over
    auto_renew: bool
    price: str | None = None  # as it is to be read, such as 12.00 USD


@dataclass(frozen=True, slots=True, kw_only=True)
class PortfolioEvent:
    """Another event of the portfolio."""

    title: str
    on: date
    section: str = ""  # of the email
    name: str = ""  # of the event


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewalNotice(Letter):
    """Notifies a member of a portfolio of domains that renew soon, most urgent first, and of other events."""

    name: ClassVar[str] = "renewal_notice"
    category: ClassVar[Category] = Category.NOTICE
    topic: ClassVar[Topic | None] = Topic.RENEWALS
    domains: tuple[Renewal, ...]
    link: str | None = None
    events: tuple[PortfolioEvent, ...] = ()
    more: int = 0  # domains and events that are left out
    digest: bool = False
    repeated: bool = False  # whether notices about an expiry are repeated until they are acknowledged
    portfolio: str | None = None  # the account whose portfolio it is, unless it is the recipient's own
    sandbox: bool = False
    sample: bool = False

    @property
    def headline(self) -> str:
        """Return the subject."""
        count, events = len(self.domains), len(self.events)
        if count or not events:
            text = f"{'1 domain' if count == 1 else f'{count} domains'} to look at before renewal"
        else:
            text = "1 event of your portfolio" if events == 1 else f"{events} events of your portfolio"
        if self.digest:
            text = f"Digest: {text}"
        return f"Sample: {text}" if self.sample else text
