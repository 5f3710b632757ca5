"""Refusals of the catalog."""

from builders.kit.errors import Problem


class DomainNotFound(Problem):
    """The catalog has no such domain."""

    status, code = 404, "domain_not_found"
    remedy = "List the domains: GET /v1/catalog/domains."


class AssetNotFound(Problem):
    """The image does not exist."""

    status, code = 404, "asset_not_found"
    remedy = "Take the address of an image from GET /v1/catalog/domains."
