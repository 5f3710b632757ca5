# Written by script/clients.
"""What callers send: webhooks."""

from collections.abc import Sequence
from typing import Literal, NotRequired, TypedDict

from builders_client.values import TimeLike


class WebhookCreate(TypedDict):
    """A webhook destination to create. Unknown members are refused."""

    signing_secret: NotRequired[str | None]
    """`whsec_` and the base64 of 24 to 64 bytes, or 16 to 256 printable characters. Default: one is generated and
    shown once.
    """
    label: str
    """Your name for the destination."""
    url: str
    """Public http or https address that events are sent to."""
    enabled: bool
    """Whether it receives events."""
    events: Sequence[str]
    """Names of events, `area.*`, or `*` for all."""


class WebhookReplay(TypedDict):
    """The deliveries to send again. Unknown members are refused."""

    since: TimeLike
    """Only events from this time on."""
    until: NotRequired[TimeLike | None]
    """Only events before this time; now by default."""
    events: NotRequired[Sequence[str] | None]
    """Names of events, or `area.*`; by default all that the destination receives."""
    status: NotRequired[Literal["failed", "cancelled", "succeeded"]]
    """Status of the deliveries to send again."""
    cursor: NotRequired[str | None]
    """`next_cursor` of the previous response, to continue."""


class WebhookRotate(TypedDict):
    """The overlap of a rotation, and optionally the new secret. Unknown members are refused."""

    overlap_hours: NotRequired[int]
    """Both secrets sign during this time."""
    signing_secret: NotRequired[str | None]
    """The new secret, in the form of `signing_secret` at creation. Default: one is generated and shown once."""


class WebhookUpdate(TypedDict):
    """Changes to a webhook destination: absent members do not change. At least one member.

    `enabled: true` enables it again after `gone` or `failing`. Unknown members are refused.
    """

    events: NotRequired[Sequence[str]]
    """Names of events, `area.*`, or `*` for all; replaces the list."""
    label: NotRequired[str]
    """Your name for the destination."""
    url: NotRequired[str]
    """Public http or https address that events are sent to."""
    enabled: NotRequired[bool]
    """Whether it receives events."""
