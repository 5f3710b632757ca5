"""Refusals of transfers."""

from builders.kit.errors import Problem


class AuthCodeLimit(Problem):
    """The auth code of this domain was requested too often."""

    status, code = 429, "auth_code_limit"
    remedy = "Use the last code, or wait."
