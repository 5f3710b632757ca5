# Written by script/clients.

from builders_client.values import Model

from .shared import UnknownField


class LeadConfirmedReply(Model):
    """Result of the confirmation."""

    status: str
    """`already_confirmed` when the link was used before. Known values: confirmed, already_confirmed."""
    email_masked: str
    """The address, masked."""


class LeadReply(Model):
    """Receipt of a form, the same for known and unknown addresses."""

    id: str
    """Identifier of the request."""
    email_masked: str
    """The address, masked: `a***@example.net`."""
    status: str
    """Always `pending`: a confirmation link is sent."""
    confirmation_required: bool
    """Always true: the lead counts after its confirmation."""
    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
