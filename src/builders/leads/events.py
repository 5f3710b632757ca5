"""The internal events of leads. They omit the address, because a lead belongs to the vendor."""

from uuid import UUID

from pydantic import BaseModel

from builders.kit.events.outbox import Event, declare


class LeadConfirmed(BaseModel):
    """A lead that confirmed the request of an emailed link."""

    lead_id: UUID
    request_id: UUID
    source: str | None
    interest: str | None
    marketing: bool
    first: bool  # whether it is the first confirmation of the lead


LEAD_CONFIRMED = declare(
    Event(
        name="lead.confirmed",
        version=1,
        description="A lead confirmed its request by the emailed link.",
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
