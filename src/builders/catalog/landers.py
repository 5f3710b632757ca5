"""What the pages of landers send: one event or a batch of them, and how large it may be."""

from collections.abc import Sequence

from fastapi import Request

from builders.catalog.funnel_events import EventKind, Receipt
from builders.kit.errors import Invalid
from builders.kit.http import json_bodies
from builders.kit.http.body_limits import too_large

MAX_EVENT_BYTES = 8 * 1024  # bytes of a body with one event
MAX_BATCH_BYTES = 64 * 1024


def body_size(request: Request) -> int:
    """The bytes of the body."""
    return json_bodies.body_size(request)


def check_form(kind: EventKind | None, *, size: int, is_batch: bool) -> None:
    """Raises Invalid unless it is one event or a batch, and BodyTooLarge for what no single event needs."""
    if is_batch == (kind is not None):
        raise Invalid(("body", "kind"), "Write `kind` for one event, or `events` for several.", "event_form")
    if not is_batch and size > MAX_EVENT_BYTES:
        raise too_large(MAX_EVENT_BYTES)


def raise_event_error(receipts: Sequence[Receipt], *, is_batch: bool) -> None:
    """Raises Invalid for the flaw of a single event; those of a batch are told one by one."""
    flaw = receipts[0].error
    if flaw is not None and not is_batch:
        raise Invalid(("body", flaw.field), flaw.message, flaw.code)
