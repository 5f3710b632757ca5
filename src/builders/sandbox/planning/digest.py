"""The digest that binds a plan, and the totals of its prices. Pure."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

import rfc8785
from pydantic import TypeAdapter

from builders.kit.values.money import Money
from builders.sandbox.manifest import Manifest
from builders.sandbox.records import ACTIONS, Action, Price, Total

MANIFEST = TypeAdapter(Manifest)
Json = Any  # any JSON value


def digest_manifest(manifest: Manifest) -> str:
    """Return the digest of a manifest. The plan stores it instead of the manifest."""
    return _hashed(MANIFEST.dump_python(manifest, mode="json"))


def digest(account_id: UUID, manifest: Manifest, planned: Sequence[Action]) -> str:
    """Return the digest of a plan: of its account, manifest and actions."""
    actions: list[Json] = ACTIONS.dump_python(tuple(planned), mode="json")
    return bind(account_id, digest_manifest(manifest), actions)


def bind(account_id: UUID, manifest_digest: str, actions: Sequence[Json]) -> str:
    """Return the digest of a plan with its actions as they are stored."""
    return _hashed({"account_id": str(account_id), "manifest": manifest_digest, "actions": list(actions)})


def _hashed(bound: Json) -> str:
    """Return the SHA-256 of the canonical JSON (RFC 8785)."""
    return "sha256:" + hashlib.sha256(rfc8785.dumps(bound)).hexdigest()


def totals(planned: Iterable[Action]) -> list[Total]:
    """Return what the actions cost, by currency and interval."""
    sums: dict[str, dict[str, Money]] = {}
    for price in _prices(planned):
        of = sums.setdefault(price.money.currency, {})
        of[price.interval] = of.get(price.interval, Money.zero(price.money.currency)) + price.money
    return [
        Total(
            currency=currency,
            once=of.get("once", Money.zero(currency)),
            month=of.get("month", Money.zero(currency)),
            year=of.get("year", Money.zero(currency)),
        )
        for currency, of in sorted(sums.items())
    ]


def due(planned: Iterable[Action]) -> dict[str, Money]:
    """Return what is due at once, by currency: one-time prices, and each first month or year."""
    sums: dict[str, Money] = {}
    for price in _prices(planned):
        currency = price.money.currency
        sums[currency] = sums.get(currency, Money.zero(currency)) + price.money
    return sums


def _prices(planned: Iterable[Action]) -> Iterable[Price]:
    """Return the prices above zero: names on the account's own domains are free and have no currency."""
    return (action.price for action in planned if action.price is not None and action.price.money.amount)
