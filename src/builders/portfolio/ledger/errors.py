"""Refusals of the ledger."""

from builders.kit.errors import Problem


class EntryLimitReached(Problem):
    """The domain or the portfolio has as many entries as it can have."""

    status, code = 409, "entry_limit"
    default_detail = "A domain has 5,000 entries at most, and a portfolio 2,000,000, void ones too."
    remedy = (
        "Record the sum of several amounts as one entry. To begin an empty ledger, export the domain, remove "
        "it with `history=delete`, and add it again."
    )
