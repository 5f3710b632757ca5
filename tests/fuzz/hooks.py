"""What schemathesis must know of this service that the OpenAPI document cannot say; loaded by schemathesis."""

import os
from typing import Any

import schemathesis
from schemathesis.core.failures import Failure
from schemathesis.openapi.checks import AllowHeaderMismatch, RejectedPositiveData

# The id of the key that asks. Revoked or rotated it would ask for nothing any more.
OWN_KEY_ID = os.environ.get("FUZZ_OWN_KEY_ID", "")
NOBODYS_ID = "01890a5d-ac96-774b-bcce-b302099a8057"

# Types of 422 for rules that a JSON schema has no words for. All other refusals of what the document allows fail.
BEYOND_A_SCHEMA = {
    "address_form",  # either address, or local_part and domain
    "cursor_invalid",  # signed by us
    "duplicate_key",  # unique among the items of a list
    "email",  # which domains and local parts there can be
    "key_reused",  # an Idempotency-Key goes with one body
}


@schemathesis.hook
def before_call(
    context: schemathesis.HookContext, case: schemathesis.Case, kwargs: dict[str, Any]
) -> None:
    """Spares the key that asks."""
    del context, kwargs
    if OWN_KEY_ID and case.method != "GET" and case.path_parameters.get("key_id") == OWN_KEY_ID:
        case.path_parameters["key_id"] = NOBODYS_ID


@schemathesis.hook
def filter_failure(
    context: schemathesis.HookContext, failure: Failure, case: schemathesis.Case, response: schemathesis.Response
) -> bool:
    """Whether it is a failure of ours."""
    del context
    if isinstance(failure, RejectedPositiveData) and response.status_code == 422:
        return not {error["type"] for error in response.json()["detail"]} <= BEYOND_A_SCHEMA
    if isinstance(failure, AllowHeaderMismatch):
        # A literal path that a template fits too has the methods of both, as routes do.
        return "{" in case.path or bool(failure.missing_methods)
    return True
