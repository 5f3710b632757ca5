# Written by script/clients.

from pydantic import AwareDatetime

from builders_client.values import Model


class CountReply(Model):
    """How often a message was opened, or its links were clicked."""

    people: int
    """Events that are not attributed to a machine."""
    machines: int
    """Scanners, previews, prefetching proxies and programs."""
    proxied: int
    """Machine events of the image proxies of Gmail and Yahoo, which mostly act for a person."""
    first_at: AwareDatetime | None
    """Time of the first event of a person."""
    last_at: AwareDatetime | None
    """Time of the latest event of a person."""


class MessageReply(Model):
    """A notice that was emailed for the account."""

    id: str
    """Identifier of the message."""
    template: str
    """Email template of the message."""
    recipient: str
    """Address of the recipient, masked."""
    status: str
    """Delivery state of the message. Known values: queued, deferred, sent, bounced, expired, suppressed."""
    created_at: AwareDatetime
    """When the message was queued."""
    sent_at: AwareDatetime | None
    """When the mail server accepted it; null before."""
    opens: CountReply
    """Opens of the message; the first 1,000 opens and clicks together count."""
    clicks: CountReply
    """Clicks on links of the message; the first 1,000 opens and clicks together count."""


class MessageReplyPage(Model):
    """A page of a list; send `next_cursor` as `cursor` for the next page, null at the end."""

    items: list[MessageReply]
    """The items of this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""
