"""Errors of erasures."""

from builders.kit.errors import Problem


class AccountUnsettled(Problem):
    """Something of the account is open."""

    status, code = 409, "account_unsettled"
    remedy = "Pay or void open invoices, finish or end promotions, and ask the operator about a suspension."
