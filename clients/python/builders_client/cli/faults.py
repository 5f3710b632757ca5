"""How a command fails: its exit code, and what to do next."""

import re
from typing import Any

from builders_client.problems import (
    ApiError,
    BuildersError,
    CursorFileInvalid,
    FieldError,
    NoCredentials,
    ReplyInvalid,
    RequestInvalid,
)

DONE, FAILED, USAGE, CHANGES, SIGN_IN, REFUSED, CANCELLED = 0, 1, 2, 3, 4, 5, 130
UNREAD = 141  # as the shell shows a program that ends because nobody reads its output
EXIT_CODES = {
    DONE: "Done.",
    FAILED: "Failed.",
    USAGE: "The command line, or a file that it names, is not valid.",
    CHANGES: "`bld plan --detailed-exitcode`: there are changes.",
    SIGN_IN: "There is no valid key, or none with the scope: `bld login`.",
    REFUSED: "A rule refuses it: an approval, a limit, a role.",
    CANCELLED: "Cancelled.",
    UNREAD: "Nobody reads the output any more, such as after `| head -1`.",
}
UNAUTHORIZED, FORBIDDEN, NOT_FOUND, CONFLICT, INVALID, TOO_MANY, BROKEN = 401, 403, 404, 409, 422, 429, 500
# Codes that another key solves.
_KEYS = frozenset({"insufficient_scope", "live_key_required", "address_not_allowed", "person_required"})
_RULES = frozenset({"total_exceeded", "confirm_deletes_mismatch"})
_RULE_CLASSES = frozenset({"TotalTooHigh", "ApprovalPending", "ApprovalRefused"})  # of claims, slow to import
_REQUEST = re.compile(r"\b(?:GET|POST|PUT|PATCH|DELETE) /v1/[\w/{}-]*(?:\.[a-z]+\b)?")
# The commands of operations that texts of the service name; `bld api` has the others.
COMMANDS = {
    "aliases_change": "bld names set ADDRESS",
    "aliases_get": "bld names show ADDRESS",
    "aliases_list_aliases": "bld names list",
    "aliases_release": "bld names release ADDRESS",
    "auth_authorize": "bld login",
    "catalog_check": "bld names check ADDRESS",
    "catalog_suggest": "bld names suggest WORDS",
    "invoices_create_checkout": "bld invoices pay INVOICE_ID",
    "invoices_get_invoice": "bld invoices show INVOICE_ID",
    "invoices_list_invoices": "bld invoices list",
    "portfolio_import_portfolio": "bld portfolio import FILE",
    "portfolio_list_renewals": "bld portfolio renewals",
    "portfolio_reconcile_registrars": "bld portfolio reconcile",
    "profile_get": "bld whoami",
    "sandbox_make_plan": "bld plan",
    "sandbox_promote": "bld promote PLAN_ID",
    "sandbox_request_approval": "bld approve PLAN_ID --ask",
    "webhooks_change": "bld webhooks set WEBHOOK_ID",
    "webhooks_create": "bld webhooks create",
    "webhooks_delete": "bld webhooks delete WEBHOOK_ID",
    "webhooks_get": "bld webhooks show WEBHOOK_ID",
    "webhooks_get_delivery": "bld webhooks delivery DELIVERY_ID",
    "webhooks_list_deliveries": "bld webhooks deliveries",
    "webhooks_list_destinations": "bld webhooks list",
    "webhooks_list_events": "bld webhooks events",
    "webhooks_read_events": "bld events tail",
}
_LOG_IN = "Sign in with `bld login`, or set BUILDERS_API_KEY."
_ACTIONS = {
    UNAUTHORIZED: _LOG_IN,
    FORBIDDEN: "Use another key: `bld login` gets one, or set BUILDERS_API_KEY. `bld whoami` shows yours.",
    NOT_FOUND: "Check the name or the id; the `list` command of the same group shows what there is.",
    CONFLICT: "Look at the present state, then decide again.",
    INVALID: "Correct the values that are named above.",
}
# The errors themselves say it to programmers.
_OF_CLIENT: dict[type[BuildersError], str] = {
    ReplyInvalid: "Check the address, --api-url, and install the version of bld that fits the service.",
    RequestInvalid: "Check the address, --api-url, and BUILDERS_API_KEY.",
    CursorFileInvalid: "Delete the file to begin with the oldest event, or name another one: --cursor-file FILE.",
}


class Fault(BuildersError):
    """A failure of the command line itself."""

    def __init__(self, message: str, *, next_action: str, code: int = FAILED) -> None:
        self.next_action = next_action
        self.code = code
        super().__init__(message)


def exit_code(error: BuildersError) -> int:
    """Return the exit code of an error."""
    if isinstance(error, Fault):
        return error.code
    if isinstance(error, NoCredentials):
        return SIGN_IN
    if not isinstance(error, ApiError):
        return REFUSED if type(error).__name__ in _RULE_CLASSES else FAILED
    if error.status == UNAUTHORIZED or error.code in _KEYS:
        return SIGN_IN
    if error.status == FORBIDDEN or error.code in _RULES or error.code.endswith("_limit"):
        return REFUSED
    return FAILED


def next_action(error: BuildersError) -> str:
    """Return what to do next."""
    if isinstance(error, NoCredentials):
        return _LOG_IN
    if not isinstance(error, ApiError):
        return _OF_CLIENT.get(type(error)) or error.next_action or "Look at the message, then repeat the command."
    if error.code in _KEYS:
        return _ACTIONS[FORBIDDEN]
    if error.status == UNAUTHORIZED or error.errors or not error.next_action:
        return _of_status(error)
    return as_commands(error.next_action)


def _of_status(error: ApiError) -> str:
    """Return what to do next after an answer with the status."""
    if error.retry_after is not None:
        return f"Wait {error.retry_after:.0f} seconds, then repeat the command."
    if error.status >= BROKEN:
        return "Repeat the command in a minute. If it fails again, report the request id."
    return _ACTIONS.get(error.status, "Correct the command, then repeat it.")


def as_commands(text: str) -> str:
    """Return a text of the service with a command in the place of each request."""
    from builders_client.generated.operations import OPERATIONS

    known = {
        f"{each.method} {each.path}": f"`{COMMANDS.get(each.id, f'bld api {each.id}')}`"
        for each in OPERATIONS.values()
    }
    return _REQUEST.sub(lambda found: known.get(found[0], found[0]), text)


def message(error: BuildersError) -> str:
    """Return what happened, without what to do next."""
    if not isinstance(error, ApiError):
        return str(error) or type(error).__name__
    if error.errors:
        return "\n".join(field_message(each, skip=1) for each in error.errors)
    return f"{as_commands(error.detail or error.title or error.code)} ({error.code})"


def field_message(error: FieldError, *, skip: int = 0) -> str:
    """Return which value is not valid and why, without the first parts of its location."""
    hint = f" Did you mean {error.did_you_mean}?" if error.did_you_mean else ""
    place = ".".join(map(str, error.location[skip:] or error.location))
    return f"{place}: {as_commands(error.message)}{hint}"


def as_json(error: BuildersError) -> dict[str, Any]:
    """Return the error as a program reads it."""
    told: dict[str, Any] = {
        "code": getattr(error, "code", None) if isinstance(error, ApiError) else None,
        "message": message(error),
        "next_action": next_action(error),
        "exit_code": exit_code(error),
    }
    if isinstance(error, ApiError):
        told |= {"status": error.status, "request_id": error.request_id, "problem": dict(error.members)}
    if (page := getattr(error, "review_url", None)) is not None:
        told["review_url"] = page
    return told
