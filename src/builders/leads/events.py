"""What leads tell, for subscribers only: a lead is the vendor's, and its address stays here."""

from uuid import UUID

from pydantic import BaseModel

from builders.kit.events.outbox import Event, declare


class LeadConfirmed(BaseModel):
    """A link was followed: the request that it was mailed for is its reader's own."""

    lead_id: UUID
    request_id: UUID
    source: str | None
    interest: str | None
    marketing: bool
    first: bool  # the lead was not confirmed before


LEAD_CONFIRMED = declare(
    Event(
        name="lead.confirmed",
        version=1,
        description="A lead has confirmed that it was them who asked.",
        example=LeadConfirmed(
            lead_id=UUID("0193a1b2-0000-7000-8000-000000000005"),
            request_id=UUID("0193a1b2-0000-7000-8000-000000000006"),
            source="harbour-lander",
            interest="mailbox",
            marketing=True,
            first=True,
        ),
        internal=True,
    )
)
