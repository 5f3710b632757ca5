"""Refusals of imports."""

from builders.kit.errors import Problem


class ImportNotFound(Problem):
    """There is no such import."""

    status, code = 404, "import_not_found"
    remedy = "List the imports of the portfolio: GET /v1/portfolio/imports."
    collection = "/v1/portfolio/imports"


class TooManyImports(Problem):
    """Too many imports have not ended."""

    status, code = 429, "too_many_imports"
    remedy = "Wait for one of them to end: GET /v1/portfolio/imports."


class ImportRowLimit(Problem):
    """The imports of a day have the maximum number of rows."""

    status, code = 429, "import_row_limit"
    remedy = "Import the rows tomorrow: the rows of an import count for 24 hours."


class ImportRunning(Problem):
    """The import has not ended."""

    status, code = 409, "import_running"
    remedy = "Undo it after its end."


class ImportFinal(Problem):
    """The import can no longer be undone."""

    status, code = 409, "import_final"
    remedy = "Change the domains individually: PATCH /v1/portfolio/domains/{domain_id}."
