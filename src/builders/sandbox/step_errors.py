"""Errors of steps. `RETRYABLE` says for each code whether resuming the same promotion can help.

True if the cause is temporary or the account can remove it; false if the client must plan again.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from builders.aliases.records import Detail, Reason
from builders.projects.records import Refusal

RETRYABLE: Mapping[str, bool] = {
    # The name.
    **{each.value: False for each in (*Reason, *Detail) if each is not Reason.OK},
    Reason.HELD.value: True,  # another promotion reserves it for minutes
    "alias_exists": False,
    "alias_suspended": True,
    "price_changed": False,
    "rules_changed": False,
    # The resource has changed since the plan was made.
    "alias_changed": False,
    "domain_changed": False,
    "project_changed": False,
    "webhook_changed": False,
    "cooling_off_ended": False,
    "secret_ref_unknown": False,
    "project_not_found": False,
    # The account can remove the cause.
    **{each.value: True for each in Refusal},
    "destination_loop": True,
    "key_in_use": True,
    "payment_overdue": True,
    "project_archived": True,
    "project_limit": True,
    "slug_taken": True,
    "url_not_allowed": True,
    "webhook_limit": True,
    # The promotion itself.
    "ending_failed": True,
    "requirement_failed": True,
    "unexpected": True,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepError:
    """The error of a failed step or of an abandoned promotion."""

    code: str
    message: str

    @property
    def retryable(self) -> bool:
        """Return whether resuming the same promotion can succeed."""
        return RETRYABLE.get(self.code, False)  # a rehearsal can invent codes
