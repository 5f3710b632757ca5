"""/v1/notifications/events."""

from collections.abc import Sequence
from typing import Annotated

from builders.kit.http.callers import Caller, needs
from builders.kit.http.pagination import Listing
from builders.kit.http.routes import BEYOND, Router
from builders.webhooks import service as webhooks
from builders.webhooks.records import CatalogEvent
from builders.webhooks.schemas import events as schemas

router = Router(prefix="/v1/notifications/events", tags=["webhooks"])
Reader = Annotated[Caller, needs("notifications:read")]


@router.get("", response_model=Listing[schemas.EventReply], openapi_extra=BEYOND)
async def list_events(caller: Reader) -> Listing[CatalogEvent]:
    """List every event that a destination can ask for, with its schema and a whole payload by example."""
    del caller  # the scope is enough
    events: Sequence[CatalogEvent] = webhooks.list_catalog()
    return Listing(items=list(events))
