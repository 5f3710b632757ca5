# Written by script/clients.

from builders_client.values import Model


class ActorReply(Model):
    """The actor of an action."""

    type: str
    """An API key, a person who signed in, the vendor's support signed in as the account, or the operator at the command line. Known values: key, user, support, operator."""
    id: str | None
    """Identifier of the key, the session or the login-as grant."""
    label: str | None
    """Name or address of support or the operator."""


class UnknownField(Model):
    """A member of the body that was ignored because it is unknown, or another warning."""

    field: str
    """Path of the member in the body, such as `metadata.lables`."""
    code: str | None = None
    """`unknown_field`, `amount_as_number`, or a code of the operation."""
    did_you_mean: str | None
    """The known member with the closest name; null when none is close."""
    message: str
    """The warning as a sentence."""
