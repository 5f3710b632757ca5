"""Refusals about the history of domains."""

from builders.kit.errors import Problem


class DomainHasHistory(Problem):
    """The domain has entries, charges or a sale."""

    status, code = 409, "domain_has_history"
    remedy = "To preserve the history, set the status: PATCH /v1/portfolio/domains/{domain_id}."
