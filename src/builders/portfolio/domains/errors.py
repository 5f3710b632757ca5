"""Refusals of the portfolio's domains."""

from builders.kit.errors import Problem


class DomainNotFound(Problem):
    """There is no such domain."""

    status, code = 404, "portfolio_domain_not_found"
    remedy = "List the domains of the portfolio: GET /v1/portfolio/domains."
    collection = "/v1/portfolio/domains"


class DuplicateDomain(Problem):
    """The portfolio has this domain already."""

    status, code = 409, "duplicate_domain"
    remedy = "Change it: PATCH /v1/portfolio/domains/{domain_id}."


class DomainLimit(Problem):
    """The portfolio has the maximum number of domains."""

    status, code = 409, "portfolio_domain_limit"
    remedy = "Delete those that you do not need: DELETE /v1/portfolio/domains/{domain_id}."


class DomainsChanged(Problem):
    """A domain has changed since the dry run, so nothing is changed."""

    status, code = 409, "domains_changed"
    remedy = "Look at the changes again: send the request with `dry_run`."


class NameInvalid(ValueError):
    """The text is not a registrable domain name."""

    def __init__(self, message: str, did_you_mean: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.did_you_mean = did_you_mean
