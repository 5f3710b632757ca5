"""Refusals of forwarding."""

from builders.kit.errors import Problem


class CorrespondentNotFound(Problem):
    """The name has no such correspondent."""

    status, code = 404, "correspondent_not_found"
    remedy = "List them: GET /v1/aliases/{alias_id}/correspondents."


class RepliesDisabled(Problem):
    """The name does not reply."""

    status, code = 409, "replies_disabled"
    remedy = "Set `reply` of the name to true: PATCH /v1/aliases/{alias_id}."


class CorrespondentLimit(Problem):
    """The account has the maximum number of correspondents."""

    status, code = 409, "correspondent_limit"
    remedy = "Delete those that you no longer need."
