"""Refusals of saved formats."""

from builders.kit.errors import Problem


class SavedFormatNotFound(Problem):
    """The portfolio has no such format."""

    status, code = 404, "saved_format_not_found"
    remedy = "List the formats: GET /v1/portfolio/formats."


class SavedFormatLimit(Problem):
    """The portfolio has as many formats as it can have."""

    status, code = 409, "saved_format_limit"
    remedy = "Delete a format: DELETE /v1/portfolio/formats/{name}."
