"""What crosses the door of the portfolio's notifications."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from builders.webhooks.records import TestSend


class Channel(StrEnum):
    """How somebody is told."""

    EMAIL = "email"
    WEBHOOK = "webhook"


@dataclass(frozen=True, slots=True, kw_only=True)
class MailSample:
    """What came of a sample mail."""

    to: str  # masked
    message_id: UUID | None  # None when it was not sent
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """What came of samples by each channel."""

    email: MailSample | None  # None when that channel was not asked for
    webhooks: Sequence[TestSend]
