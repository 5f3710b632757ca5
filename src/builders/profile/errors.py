"""Errors of the profile."""

from builders.kit.errors import Problem


class ResendTooSoon(Problem):
    """It is too soon for another verification message."""

    status, code = 429, "resend_too_soon"
