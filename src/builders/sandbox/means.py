"""What a promotion needs besides its plan: terms of the operator, and the keyring that seals secrets."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Self

from builders.invoices.records import Seller
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings

PAYABLE_WITHIN = timedelta(days=14)


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """Taken from the settings of the process."""

    quarantine: timedelta  # of names that are given up
    cooling_off: timedelta  # after a claim, in which its release undoes it
    payable_within: timedelta  # of an invoice
    seller: Seller
    keyring: Keyring = field(repr=False)

    @classmethod
    def of(cls, settings: Settings, keyring: Keyring) -> Self:
        """Those of a process."""
        return cls(
            quarantine=timedelta(days=settings.quarantine_days),
            cooling_off=timedelta(hours=settings.cooling_off_hours),
            payable_within=PAYABLE_WITHIN,
            seller=Seller.of(settings),
            keyring=keyring,
        )
