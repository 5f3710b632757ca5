"""The public endpoints of the FastAPI + ORM stack: each request writes a row through the ORM and commits."""

import hashlib
from collections.abc import AsyncIterator
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, Field
from sqlalchemy import select
from sqlalchemy.dialects.postgresql import JSONB, insert
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from bench.bare_asgi import GIF
from bench.fastapi_orm_tables import Table
from bench.fixtures import Dependencies
from builders.kit.values import clock, ids
from builders.mail import links

router = APIRouter(tags=["public"])


class Message(Table):
    """A sent message."""

    __tablename__ = "mail_messages"

    account_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    created_at: Mapped[datetime] = mapped_column(primary_key=True)


class TrackingEvent(Table):
    """An open or a click."""

    __tablename__ = "tracking_hits"

    account_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    created_at: Mapped[datetime] = mapped_column(primary_key=True)
    message_id: Mapped[UUID]
    kind: Mapped[str]
    url: Mapped[str | None]
    agent: Mapped[str]


class EventKey(Table):
    """The key that detects a repeated event."""

    __tablename__ = "catalog_event_keys"

    key: Mapped[bytes] = mapped_column(primary_key=True)
    event_id: Mapped[UUID]
    created_at: Mapped[datetime]


class Event(Table):
    """A funnel event."""

    __tablename__ = "catalog_events"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    created_at: Mapped[datetime] = mapped_column(primary_key=True)
    occurred_at: Mapped[datetime]
    kind: Mapped[str]
    domain: Mapped[str | None]
    session_id: Mapped[str | None]
    utm: Mapped[dict[str, Any]] = mapped_column(JSONB)
    # The ORM reserves the name of the column.
    more: Mapped[dict[str, Any]] = mapped_column("metadata", JSONB)
    is_machine: Mapped[bool]
    agent: Mapped[str]


class Kind(StrEnum):
    """A step of the funnel."""

    VIEW = "view"
    CHECK = "check"
    CLAIM = "claim"


class EventBody(BaseModel):
    """The body of a beacon."""

    kind: Kind
    domain: Annotated[str | None, Field(max_length=253)] = None
    local_part: Annotated[str | None, Field(max_length=64)] = None
    event_id: Annotated[str, Field(min_length=8, max_length=64)]
    session_id: Annotated[str | None, Field(min_length=8, max_length=64)] = None


class EventReply(BaseModel):
    """The response to a beacon."""

    id: UUID
    accepted: bool
    duplicate: bool
    results: None = None
    warnings: list[str] = []


async def open_session(request: Request) -> AsyncIterator[AsyncSession]:
    """Yield a session for the request."""
    async with request.app.state.sessions() as session:
        yield session


Session = Annotated[AsyncSession, Depends(open_session)]


async def _track(request: Request, session: AsyncSession, token: str, kind: str, url: str | None) -> None:
    shared: Dependencies = request.app.state.shared
    if not links.is_token(shared.keyring, token):
        return
    message_id = links.message_of(token)
    found = select(Message).where(Message.id == message_id, Message.created_at == ids.time_of(message_id))
    message = await session.scalar(found)
    if message is not None:
        session.add(
            TrackingEvent(
                account_id=message.account_id,
                id=ids.new(),
                created_at=clock.now(),
                message_id=message_id,
                kind=kind,
                url=url,
                agent="browser",
            )
        )
        await session.commit()


@router.get("/v1/t/o/{token}")
async def open_mail(request: Request, session: Session, token: str) -> Response:
    """Record an open."""
    await _track(request, session, token, "open", None)
    return Response(GIF, media_type="image/gif", headers={"Cache-Control": "no-store"})


@router.get("/v1/t/c/{token}")
async def follow(request: Request, session: Session, token: str, u: str, m: str) -> Response:
    """Record a click and redirect."""
    shared: Dependencies = request.app.state.shared
    if not links.is_target(shared.keyring, token, target=u, mac=m):
        raise HTTPException(400, "The link was changed.")
    await _track(request, session, token, "click", u)
    return RedirectResponse(u, 302, headers={"Cache-Control": "no-store"})


@router.post("/v1/catalog/events", response_model=EventReply)
async def record(session: Session, body: EventBody) -> Any:
    """Record an event."""
    event_id, now = ids.new(), clock.now()
    key = hashlib.sha256(body.event_id.encode()).digest()[:16]
    keys = insert(EventKey).values(key=key, event_id=event_id, created_at=now)
    first = await session.scalar(keys.on_conflict_do_nothing().returning(EventKey.event_id))
    if first is not None:
        session.add(
            Event(
                id=event_id,
                created_at=now,
                occurred_at=now,
                kind=body.kind,
                domain=body.domain,
                session_id=body.session_id,
                utm={},
                more={},
                is_machine=False,
                agent="browser",
            )
        )
    await session.commit()
    return {"id": event_id, "accepted": True, "duplicate": first is None}
