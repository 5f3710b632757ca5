"""Failures of registrars' APIs, with messages and hints that users may read."""

from enum import StrEnum


class RegistrarFailure(StrEnum):
    """The reason of a registrar's refusal or failure."""

    AUTH_FAILED = "auth_failed"
    RESTRICTED = "restricted"
    IP_NOT_ALLOWED = "ip_not_allowed"
    RATE_LIMITED = "rate_limited"
    UNAVAILABLE = "unavailable"
    MALFORMED = "malformed"
    INCOMPLETE = "incomplete"  # a list whose end the registrar did not confirm
    NOT_FOUND = "not_found"
    REFUSED = "refused"
    UNSUPPORTED = "unsupported"
    INVENTORY_LIMIT = "inventory_limit"
    CHARGE_LIMIT = "charge_limit"


_MESSAGES = {
    RegistrarFailure.AUTH_FAILED: "The registrar does not accept the credentials.",
    RegistrarFailure.RESTRICTED: "The registrar does not allow this account to use its API.",
    RegistrarFailure.IP_NOT_ALLOWED: "The registrar does not accept requests from this service's address.",
    RegistrarFailure.RATE_LIMITED: "The registrar's rate limit is reached.",
    RegistrarFailure.UNAVAILABLE: "The registrar does not respond.",
    RegistrarFailure.MALFORMED: "The registrar's response cannot be read.",
    RegistrarFailure.INCOMPLETE: "The registrar did not confirm that its list of domains is complete.",
    RegistrarFailure.NOT_FOUND: "The registrar does not hold this domain for the account.",
    RegistrarFailure.REFUSED: "The registrar refused the request.",
    RegistrarFailure.UNSUPPORTED: "The registrar's API does not offer this.",
    RegistrarFailure.INVENTORY_LIMIT: "The inventory of the portfolio has the maximum number of domains.",
    RegistrarFailure.CHARGE_LIMIT: "The portfolio has the maximum number of charges.",
}
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
    ) -> None:
        super().__init__(_MESSAGES[kind])
        self.kind = kind
        self.hint = hint  # the remedy
        self.code = None if code is None else code[:MAX_CODE]  # the registrar's own code
        self.retry_after_s = None if retry_after_s is None else _bounded(retry_after_s)
        self.is_own = is_own  # this service refused the request before sending it

    @property
    def is_temporary(self) -> bool:
        """Return whether the same request can succeed later."""
        return self.kind in _LATER


def _bounded(seconds: float) -> float | None:
    """Return a time that a registrar names, up to a day; None for one that is no number of seconds."""
    return min(seconds, MAX_RETRY_AFTER_S) if seconds >= 0 else None
