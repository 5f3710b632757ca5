"""Errors of exports."""

from builders.kit.errors import Problem


class ExportNotFound(Problem):
    """These credentials have no such export."""

    status, code = 404, "export_not_found"
    default_detail = "These credentials have requested no such export in the last 24 hours."
    remedy = "Request another: POST /v1/account/exports."


class ExportRunning(Problem):
    """An export of the account is being written."""

    status, code = 409, "export_running"
    remedy = "Wait until it ends: an account has one at a time."


class ExportNotReady(Problem):
    """The export has no content."""

    status, code = 409, "export_not_ready"
    remedy = "Read its `state`: GET /v1/account/exports/{export_id}."
