"""Records of backups and restores."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """How much of what a restored database has goes on when it is accepted."""

    jobs: int
    events: int  # that are not dispatched
    deliveries: int  # of webhooks
    emails: int
    promotions: int
    renewals: int  # of names, that are due
    invoices: int
    erasures: int  # that wait for their day
    disabled_keys: int
