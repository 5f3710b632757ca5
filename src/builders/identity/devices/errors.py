"""Errors of connecting a machine. Those of a poll carry `error`, as RFC 8628 (3.5) defines it."""

from builders.kit.errors import Problem


class DeviceRequestNotFound(Problem):
    """The account has no such request of a machine."""

    status, code = 404, "device_request_not_found"
    default_detail = "There is no such request, or its code was not typed last in this account."
    remedy = "Type the code that the terminal shows: POST /v1/auth/device/code."


class DeviceRequestEnded(Problem):
    """The request of the machine was decided or has expired."""

    status, code = 409, "device_request_ended"
    remedy = "Revoke the keys if the machine has them. Else start again on the machine, and type the new code."


class DeviceRequestsFull(Problem):
    """Too many machines wait for a person."""

    status, code = 503, "device_requests_full"
    remedy = "Repeat the request after the seconds of Retry-After."


class DeviceCodesUsedUp(Problem):
    """Too many wrong codes were typed in this session."""

    status, code = 403, "device_codes_used_up"
    remedy = "Sign in again, and type the code that the terminal shows."


class AuthorizationPending(Problem):
    """The person has not decided."""

    status, code = 400, "authorization_pending"
    remedy = "Repeat the request after the seconds of `interval`."


class SlowDown(Problem):
    """The request came before the interval had passed."""

    status, code = 400, "slow_down"
    remedy = "Repeat the request after the seconds of `interval`, which is longer now."


class DeviceCodeExpired(Problem):
    """The device code has expired."""

    status, code = 400, "expired_token"
    remedy = "Start again: POST /v1/auth/device/authorize."


class AccessDenied(Problem):
    """The person refused the request."""

    status, code = 400, "access_denied"
    remedy = "Nothing was created. Start again only if the person wants it."


class DeviceCodeInvalid(Problem):
    """The device code is unknown or used."""

    status, code = 400, "device_code_invalid"
    remedy = "Start again: POST /v1/auth/device/authorize."
