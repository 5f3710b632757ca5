"""Failures of registrars' APIs, with messages and hints that users may read."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Self

from builders.portfolio.runs.records import Unread


class RegistrarFailure(StrEnum):
    """The reason of a registrar's refusal or failure."""

    message: str

    def __new__(cls, value: str, message: str) -> Self:
        """Return a member with its message."""
        member = str.__new__(cls, value)
        member._value_, member.message = value, message
        return member

    AUTH_FAILED = "auth_failed", "The registrar does not accept the credentials."
    RESTRICTED = "restricted", "The registrar does not allow this account to use its API."
    IP_NOT_ALLOWED = "ip_not_allowed", "The registrar does not accept requests from this service's address."
    RATE_LIMITED = "rate_limited", "The registrar's rate limit is reached."
    UNAVAILABLE = "unavailable", "The registrar does not respond."
    MALFORMED = "malformed", "The registrar's response cannot be read."
    INCOMPLETE = "incomplete", "The registrar's list is not known to be complete."
    NOT_FOUND = "not_found", "The registrar does not hold this domain for the account."
    REFUSED = "refused", "The registrar refused the request."
    UNSUPPORTED = "unsupported", "The registrar's API does not offer this."
    INVENTORY_LIMIT = "inventory_limit", "The inventory of the portfolio has the maximum number of domains."
    CHARGE_LIMIT = "charge_limit", "The portfolio has the maximum number of charges."


_LATER = {RegistrarFailure.RATE_LIMITED, RegistrarFailure.UNAVAILABLE, RegistrarFailure.MALFORMED}
MAX_CODE = 100  # characters
MAX_RETRY_AFTER_S = 86_400.0  # upper bound of the waiting time that a registrar returns


class RegistrarFailed(Exception):
    """A request to a registrar that failed; message and hint hold no credentials."""

    def __init__(
        self,
        kind: RegistrarFailure,
        *,
        hint: str | None = None,
        code: str | None = None,
        retry_after_s: float | None = None,
        is_own: bool = False,
        unread: Sequence[Unread] = (),
    ) -> None:
        super().__init__(kind.message)
        self.kind = kind
        self.hint = hint  # the remedy
        self.code = None if code is None else code[:MAX_CODE]  # the registrar's own code
        # None also for one that is no number of seconds.
        is_known = retry_after_s is not None and retry_after_s >= 0
        self.retry_after_s = min(retry_after_s or 0.0, MAX_RETRY_AFTER_S) if is_known else None
        self.is_own = is_own  # this service refused the request before sending it
        self.unread = unread  # the items that make a list incomplete

    @property
    def is_of_item(self) -> bool:
        """Return whether it can be about one item of a list only."""
        return self.kind in {RegistrarFailure.MALFORMED, RegistrarFailure.NOT_FOUND, RegistrarFailure.REFUSED}

    @property
    def is_temporary(self) -> bool:
        """Return whether the same request can succeed later."""
        return self.kind in _LATER
