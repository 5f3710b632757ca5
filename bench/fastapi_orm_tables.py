"""The tables of the FastAPI + ORM stack."""

from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar
from uuid import UUID

from sqlalchemy import ARRAY, DateTime, Text
from sqlalchemy.dialects.postgresql import CIDR, JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from builders.identity.keys import UNUSED_FOR
from builders.kit.values import clock


class Table(DeclarativeBase):
    """The registry of mapped classes."""

    type_annotation_map: ClassVar = {
        datetime: DateTime(timezone=True),
        str: Text(),
        list[str]: ARRAY(Text()),
        dict[str, Any]: JSONB(),
        list[dict[str, Any]]: JSONB(),
    }


class Account(Table):
    """A customer, or the sandbox account of one."""

    __tablename__ = "identity_accounts"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    sandbox_of: Mapped[UUID | None]


class ApiKey(Table):
    """An API key."""

    __tablename__ = "identity_keys"

    account_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    digest: Mapped[bytes]
    label: Mapped[str]
    key_kind: Mapped[str] = mapped_column("kind")
    preset: Mapped[str]
    prefix: Mapped[str]
    last4: Mapped[str]
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    disabled_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]
    allowed_ips: Mapped[list[str] | None] = mapped_column(ARRAY(CIDR))
    mandate: Mapped[dict[str, Any] | None] = mapped_column(JSONB)
    client_name: Mapped[str | None]

    @property
    def unused_scopes(self) -> list[str]:
        """The scopes without a use for 90 days; the keys of a benchmark are younger."""
        assert clock.now() - self.created_at < UNUSED_FOR
        return []


class CatalogDomain(Table):
    """A domain of the catalog."""

    __tablename__ = "catalog_domains"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    domain: Mapped[str]
    title: Mapped[str]
    tagline: Mapped[str]
    description: Mapped[str]
    categories: Mapped[list[str]]
    tags: Mapped[list[str]]
    status: Mapped[str]
    mail_mode: Mapped[str]
    catch_all: Mapped[bool]
    price_amount: Mapped[Decimal]
    price_currency: Mapped[str]
    price_interval: Mapped[str]
    price_tier: Mapped[str]
    short_name_prices: Mapped[list[dict[str, Any]]]
    min_local_length: Mapped[int]
    separator_policy: Mapped[str]
    featured: Mapped[bool]
    rank: Mapped[int]
    logo: Mapped[dict[str, Any]]
    cover: Mapped[dict[str, Any]]
    icon: Mapped[dict[str, Any]]
    popularity: Mapped[str]
    serial: Mapped[int]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class AliasName(Table):
    """A claimed name."""

    __tablename__ = "aliases_names"

    realm: Mapped[UUID] = mapped_column(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    state: Mapped[str]
    until: Mapped[datetime | None]


class AliasSkeleton(Table):
    """The confusable skeleton of claimed names."""

    __tablename__ = "aliases_skeletons"

    realm: Mapped[UUID] = mapped_column(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    skeleton: Mapped[str] = mapped_column(primary_key=True)
    names: Mapped[int]
