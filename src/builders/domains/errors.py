"""Refusals of domains."""

from builders.kit.errors import Problem


class DomainNotFound(Problem):
    """The account does not have the domain."""

    status, code = 404, "account_domain_not_found"
    default_detail = "There is no such domain."
    remedy = "List the domains: GET /v1/domains."
    collection = "/v1/domains"
    search = "q"


class DomainExists(Problem):
    """The account has the domain already."""

    status, code = 409, "domain_exists"
    remedy = "Find it: GET /v1/domains"


class DomainInCatalog(Problem):
    """The catalog has this domain."""

    status, code = 409, "domain_in_catalog"
    remedy = "Claim names on it: GET /v1/domains/claimable"


class DomainNotInCatalog(Problem):
    """The domain is not in the catalog."""

    status, code = 409, "domain_not_in_catalog"


class DomainTaken(Problem):
    """Another account has verified the domain."""

    status, code = 409, "domain_taken"
    remedy = "If you own the domain now, ask its previous holder to release it, or contact support."


class DomainInUse(Problem):
    """Names on the domain are still claimed."""

    status, code = 409, "domain_in_use"
    remedy = "Release the names first, with a manifest without them or individually."


class DomainLimit(Problem):
    """The account has the maximum number of domains."""

    status, code = 409, "domain_limit"
    remedy = "Release one that is not used."


class DomainReleased(Problem):
    """The domain was released."""

    status, code = 409, "domain_released"
    remedy = "Add it again: POST /v1/domains"
