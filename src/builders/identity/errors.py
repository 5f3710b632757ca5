"""Refusals of identity."""

from builders.kit.errors import Problem


class KeyNotFound(Problem):
    """The account has no such API key."""

    status, code = 404, "api_key_not_found"


class KeyRevoked(Problem):
    """The API key is revoked or expired."""

    status, code = 409, "api_key_revoked"


class AccountNotFound(Problem):
    """There is no such account."""

    status, code = 404, "account_not_found"


class EmailTaken(Problem):
    """An account has this email address."""

    status, code = 409, "email_taken"
