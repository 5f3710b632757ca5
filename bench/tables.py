"""The tables as the usual stack maps them."""

from datetime import datetime
from typing import ClassVar
from uuid import UUID

from sqlalchemy import DateTime, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Table(DeclarativeBase):
    """The registry of mapped classes."""

    type_annotation_map: ClassVar = {datetime: DateTime(timezone=True), str: Text()}


class Account(Table):
    """A customer, or the sandbox twin of one."""

    __tablename__ = "identity_accounts"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    sandbox_of: Mapped[UUID | None]


class ApiKey(Table):
    """An API key."""

    __tablename__ = "identity_keys"

    account_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    label: Mapped[str]
    key_kind: Mapped[str] = mapped_column("kind")
    preset: Mapped[str]
    prefix: Mapped[str]
    last4: Mapped[str]
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]


class ApiKeyId(Table):
    """Where a key leads."""

    __tablename__ = "identity_key_ids"

    public_id: Mapped[str] = mapped_column(primary_key=True)
    digest: Mapped[bytes]
    account_id: Mapped[UUID]
    key_id: Mapped[UUID]


class AliasName(Table):
    """A name that somebody has."""

    __tablename__ = "aliases_names"

    realm: Mapped[UUID] = mapped_column(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    state: Mapped[str]
    until: Mapped[datetime | None]


class AliasLook(Table):
    """A look that somebody has."""

    __tablename__ = "aliases_skeletons"

    realm: Mapped[UUID] = mapped_column(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    skeleton: Mapped[str] = mapped_column(primary_key=True)
    names: Mapped[int]
