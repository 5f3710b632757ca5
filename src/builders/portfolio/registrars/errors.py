"""Refusals of registrars' operations."""

import math
from collections.abc import Mapping
from typing import Any

from builders.kit.errors import Problem
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure

DEFAULT_WAIT_S = 60  # after a rate limit without a time


class ProviderNotFound(Problem):
    """There is no such registrar."""

    status, code = 404, "provider_not_found"
    remedy = "List the registrars: GET /v1/portfolio/registrars. One without an API is `manual:NAME`."


class NotConnected(Problem):
    """The registrar is not connected."""

    status, code = 409, "not_connected"
    remedy = "Connect it: PUT /v1/portfolio/registrars/{provider}."


class ConnectionAmbiguous(Problem):
    """The portfolio has several connections to the registrar."""

    status, code = 409, "connection_ambiguous"
    remedy = "Specify one of them in the query: ?connection=NAME."


class ConnectionChanged(Problem):
    """A concurrent request changed the connection."""

    status, code = 409, "connection_changed"
    remedy = "Read the connections again, and repeat the request."


class ConnectionLimit(Problem):
    """The portfolio has the maximum number of registrar connections."""

    status, code = 409, "connection_limit"
    remedy = "Delete a connection that is not used: DELETE /v1/portfolio/registrars/{provider}."


class InventoryLimit(Problem):
    """The inventory of the portfolio has the maximum number of domains."""

    status, code = 409, "inventory_limit"
    remedy = (
        "Disconnect a registrar that you do not need, without its inventory: "
        "DELETE /v1/portfolio/registrars/{provider} with the query keep_inventory=false."
    )


class ChargeLimit(Problem):
    """The portfolio has the maximum number of charges."""

    status, code = 409, "charge_limit"
    remedy = (
        "What was recorded stays. Record later costs as entries of the domains: "
        "PATCH /v1/portfolio/domains/{domain_id} with `entries_add`."
    )


class ProviderUnsupported(Problem):
    """The registrar's API does not offer this."""

    status, code = 409, "provider_unsupported"
    remedy = "Do it on the registrar's site."


class NotAtProvider(Problem):
    """The registrar does not hold the domain for the account."""

    status, code = 409, "domain_not_at_provider"
    remedy = "Check in which account of the registrar the domain is, and connect that account."


class RunNotFound(Problem):
    """There is no such run."""

    status, code = 404, "registrar_run_not_found"
    remedy = "Start one: POST /v1/portfolio/registrars/sync."


class ProviderAuthFailed(Problem):
    """The registrar does not accept the credentials."""

    status, code = 424, "provider_auth_failed"
    remedy = "Create credentials at the registrar, and store them: PUT /v1/portfolio/registrars/{provider}."


class ProviderAccessRestricted(Problem):
    """The registrar does not allow this account or address to use its API."""

    status, code = 424, "provider_access_restricted"
    remedy = "Allow the API and the address of this service in the registrar's settings of the account."


class ProviderRefused(Problem):
    """The registrar refused the request."""

    status, code = 424, "provider_refused"
    remedy = "Read the registrar's own message in `detail`, and correct the cause at the registrar."


class ProviderRateLimited(Problem):
    """The registrar's rate limit is reached."""

    status, code = 429, "provider_rate_limited"
    remedy = "Wait for the seconds of Retry-After, then repeat the request."


class ProviderListIncomplete(Problem):
    """The registrar's list is not known to be complete."""

    status, code = 502, "provider_list_incomplete"
    remedy = "Try again later; the account at the registrar is unchanged."


class ProviderUnavailable(Problem):
    """The registrar does not respond correctly."""

    status, code = 502, "provider_unavailable"
    remedy = "Try again later; the account at the registrar is unchanged."


PROVIDER_PROBLEMS: Mapping[RegistrarFailure, type[Problem]] = {
    RegistrarFailure.AUTH_FAILED: ProviderAuthFailed,
    RegistrarFailure.RESTRICTED: ProviderAccessRestricted,
    RegistrarFailure.IP_NOT_ALLOWED: ProviderAccessRestricted,
    RegistrarFailure.RATE_LIMITED: ProviderRateLimited,
    RegistrarFailure.UNAVAILABLE: ProviderUnavailable,
    RegistrarFailure.MALFORMED: ProviderUnavailable,
    RegistrarFailure.INCOMPLETE: ProviderListIncomplete,
    RegistrarFailure.NOT_FOUND: NotAtProvider,
    RegistrarFailure.REFUSED: ProviderRefused,
    RegistrarFailure.UNSUPPORTED: ProviderUnsupported,
    RegistrarFailure.INVENTORY_LIMIT: InventoryLimit,
    RegistrarFailure.CHARGE_LIMIT: ChargeLimit,
}
_OF_RUNS = (InventoryLimit, ChargeLimit)  # which no request to a registrar returns
# Of `problem_of`, for the responses of a route.
PROVIDER_REFUSALS = tuple(dict.fromkeys(each for each in PROVIDER_PROBLEMS.values() if each not in _OF_RUNS))


def failure_of(full: InventoryLimit | ChargeLimit) -> RegistrarFailed:
    """Return why a run stops at a maximum; it does not change the status of the connection."""
    is_inventory = isinstance(full, InventoryLimit)
    kind = RegistrarFailure.INVENTORY_LIMIT if is_inventory else RegistrarFailure.CHARGE_LIMIT
    return RegistrarFailed(kind, hint=f"{full.detail} {full.members['next_action']}", is_own=True)


def problem_of(failure: RegistrarFailed) -> Problem:
    """Return the response to a failure of a registrar. `provider_code` is the registrar's own code."""
    members: dict[str, Any] = {} if failure.code is None else {"provider_code": failure.code}
    wait_s = None
    if failure.kind is RegistrarFailure.RATE_LIMITED:
        wait_s = max(1, math.ceil(failure.retry_after_s or DEFAULT_WAIT_S))
    return PROVIDER_PROBLEMS[failure.kind](
        str(failure), next_action=failure.hint, retry_after=wait_s, failure=str(failure.kind), **members
    )
