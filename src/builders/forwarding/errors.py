"""Refusals of forwarding."""

from builders.kit.errors import Problem


class CorrespondentNotFound(Problem):
    """The name has no such correspondent."""

    status, code = 404, "correspondent_not_found"
    remedy = "List them: GET /v1/aliases/{alias_id}/correspondents."


class ReceptionNotFound(Problem):
    """The mail to the name is not received as events."""

    status, code = 404, "reception_not_found"
    remedy = "A person sets the rule: PUT /v1/aliases/{alias_id}/receive-as-event."


class MessageNotFound(Problem):
    """There is no such message for this key, or its time has passed."""

    status, code = 404, "message_not_found"
    remedy = "Read messages within 72 hours, with the key that the rule of the name names."


class RepliesDisabled(Problem):
    """The name does not reply."""

    status, code = 409, "replies_disabled"
    remedy = "Set `reply` of the name to true: PATCH /v1/aliases/{alias_id}."


class CorrespondentLimit(Problem):
    """The account has the maximum number of correspondents."""

    status, code = 409, "correspondent_limit"
    remedy = "Delete those that you no longer need."
