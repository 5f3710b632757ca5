"""Fan-out: a batch of events becomes payloads and due deliveries, in the transaction that dispatches it."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

from builders.identity import service as identity
from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.values import clock
from builders.webhooks import matching
from builders.webhooks.store import fanout as store
from builders.webhooks.store.fanout import Outgoing


async def fan_out(conn: Conn, events: Sequence[PublishedEvent]) -> None:
    """Writes what is to be sent; told of the same events again, it writes nothing twice.

    Raises LookupError for an event that this revision does not know: a newer one says whether it may leave.
    """
    listening = await store.list_listening(conn, account_ids={each.account_id for each in events})
    heard = [each for each in events if each.account_id in listening]
    known = {event.name: event for event in outbox.list_events()} if heard else {}
    unknown = {each.name for each in heard} - known.keys()
    if unknown:
        raise LookupError(f"no room of this revision declares {', '.join(sorted(unknown))}")
    leaving = [each for each in heard if not known[each.name].internal]
    if leaving:
        real = await identity.real_accounts(conn, account_ids={each.account_id for each in leaving})
        outgoing = [_outgoing(each, real[each.account_id]) for each in leaving]
        await store.insert(conn, events=outgoing, now=clock.now())


def _outgoing(news: PublishedEvent, real_account_id: UUID) -> Outgoing:
    return Outgoing(
        account_id=news.account_id,
        id=news.id,
        created_at=news.created_at,
        name=news.name,
        wanted=matching.patterns(news.name),
        body=payload_of(news, real_account_id),
    )


def payload_of(news: PublishedEvent, live_account_id: UUID) -> str:
    """Return the JSON of an event as every receiver and reader gets it."""
    return payload(
        event_id=news.id,
        name=news.name,
        at=news.created_at,
        account_id=live_account_id,
        livemode=live_account_id == news.account_id,
        data=news.data,
    )


def payload(
    *,
    event_id: UUID,
    name: str,
    at: datetime,
    account_id: UUID,
    livemode: bool,
    data: str,
    mark: Literal["test", "simulated"] | None = None,
) -> str:
    """The JSON that is sent, with what it is of if it is of no event; `data` is put in as the room wrote it."""
    moment = at.isoformat().replace("+00:00", "Z")
    mode = "true" if livemode else "false"
    marked = f'"{mark}":true,' if mark else ""
    return (
        f'{{"id":"{event_id}","type":{json.dumps(name)},"timestamp":"{moment}","account_id":"{account_id}",'
        f'"livemode":{mode},{marked}"data":{data}}}'
    )
