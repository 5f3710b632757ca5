"""Refusals of forwarding."""

from builders.kit.errors import Problem


class CorrespondentNotFound(Problem):
    """The name has no such correspondent."""

    status, code = 404, "correspondent_not_found"
    remedy = "List them: GET /v1/aliases/{alias_id}/correspondents."


class ReceptionNotFound(Problem):
    """The name receives no mail as events, or for another credential."""

    status, code = 404, "reception_not_found"
    remedy = "A person sets the rule: PUT /v1/aliases/{alias_id}/receive-as-event."


class SignInAddress(Problem):
    """The name is the address that signs in at the account."""

    status, code = 409, "sign_in_address"
    remedy = "Receive the mail to another name, or change the address of the account first."


class MessageNotFound(Problem):
    """There is no such message for this credential, or its time has passed."""

    status, code = 404, "message_not_found"
    remedy = "Read messages within 72 hours, with the key that the rule of the name names."


class AnswerNotAllowed(Problem):
    """The rule of the name allows no answers."""

    status, code = 403, "answer_not_allowed"
    remedy = "A person sets `may_reply`: PUT /v1/aliases/{alias_id}/receive-as-event."


class MessageUnanswerable(Problem):
    """No program answers this message."""

    status, code = 409, "message_unanswerable"
    remedy = "The owner of the name can answer it with a mail program."


class AnswerLimit(Problem):
    """There are as many answers as are allowed."""

    status, code = 429, "answer_limit"
    remedy = "The owner of the name can answer with a mail program."


class RepliesDisabled(Problem):
    """The name does not reply."""

    status, code = 409, "replies_disabled"
    remedy = "Set `reply` of the name to true: PATCH /v1/aliases/{alias_id}."


class CorrespondentLimit(Problem):
    """The account has the maximum number of correspondents."""

    status, code = 409, "correspondent_limit"
    remedy = "Delete those that you no longer need."
