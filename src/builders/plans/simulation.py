"""The sandbox account: its overview, checks of names, and its reset.

Other data does not change.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID
from weakref import WeakValueDictionary

from builders.aliases import claims
from builders.aliases.records import Name, Reason, RequestedName, ReservedClass
from builders.catalog import availability as catalog_availability
from builders.catalog.availability import NameDecision
from builders.domains import account_domains
from builders.identity import accounts
from builders.invoices import invoices
from builders.kit.db.connections import Conn
from builders.kit.http.pagination import PageRequest
from builders.kit.values import clock, domain_names
from builders.plans import store
from builders.plans.records import PlanStatus, Price
from builders.plans.resources.live_state import index_domains
from builders.projects import service as projects
from builders.webhooks import destinations

NEWEST = 5  # open plans in the overview

_locks: WeakValueDictionary[tuple[UUID, asyncio.AbstractEventLoop], asyncio.Lock] = WeakValueDictionary()


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The state of an account's sandbox."""

    plans_open: int
    promotions_running: int
    email_verified: bool
    open_plans: Sequence[Mapping[str, Any]]  # the newest that can be promoted
    sandbox: Mapping[str, int]  # number of resources of the sandbox account


async def get_overview(conn: Conn, *, account_id: UUID) -> Overview:
    """Return the overview of a real account's sandbox, in six statements."""
    account = await accounts.get_account(conn, account_id=account_id)
    now, sandbox_id, newest = clock.now(), account.sandbox_id, PageRequest(limit=NEWEST)
    plans_open, running = await store.count_open(conn, account_id=account_id, now=now)
    return Overview(
        plans_open=plans_open,
        promotions_running=running,
        email_verified=account.email_verified_at is not None,
        open_plans=await store.list_plans(
            conn,
            account_id=account_id,
            status=PlanStatus.READY,
            q="",
            before=newest.before_id,
            limit=newest.limit,
            now=now,
        ),
        sandbox={
            "aliases": await claims.count_aliases(conn, account_id=sandbox_id),
            "projects": await projects.count(conn, account_id=sandbox_id),
            "webhooks": await destinations.count_destinations(conn, account_id=sandbox_id),
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NameCheck:
    """The availability of a name for the sandbox account."""

    address: str  # the sent form
    reason: str
    message: str  # empty when the name is free
    normalized: str | None  # the address that receives mail
    price: Price | None

    @property
    def available(self) -> bool:
        """Return whether the name can be claimed."""
        return self.reason == Reason.OK


async def check_names(conn: Conn, *, account_id: UUID, addresses: Sequence[str]) -> list[NameCheck]:
    """Return whether the sandbox account can claim each name, by the rules of a plan, in four statements.

    Only names of the sandbox account's realm count, so that the result discloses no other claims.
    """
    sandbox_id = (await accounts.get_account(conn, account_id=account_id)).sandbox_id
    parts = [
        (each.rpartition("@")[0], each.rpartition("@")[2]) if "@" in each else (each, "") for each in addresses
    ]
    labels = [domain_names.find_a_label(domain) or domain for _, domain in parts]
    own = await account_domains.load_domains(conn, account_id=sandbox_id, domains=labels)
    known = index_domains(await catalog_availability.load_domains(conn, domains=labels), own)
    decisions = [
        catalog_availability.decide_name(local_part, known.get(label))
        for (local_part, _), label in zip(parts, labels, strict=True)
    ]
    wanted = {
        Name(label, each.validation.key): RequestedName(
            domain=label, key=each.validation.key, skeleton=each.validation.skeleton
        )
        for label, each in zip(labels, decisions, strict=True)
        if each.refusal is None
    }
    availability = await claims.check_availability(
        conn, realm=sandbox_id, wanted=list(wanted.values()), account_id=sandbox_id
    )
    taken = {name: each.reason for name, each in availability.items()}
    return [
        _name_check(address, decision, taken.get(Name(label, decision.validation.key), Reason.OK))
        for address, label, decision in zip(addresses, labels, decisions, strict=True)
    ]


def _name_check(address: str, decision: NameDecision, taken: Reason) -> NameCheck:
    domain, validation = decision.domain, decision.validation
    reason = decision.refusal or taken
    price = None
    if domain is not None and validation.key:
        found = domain.price_for(validation.key, is_premium=validation.reserved_class is ReservedClass.PREMIUM)
        price = Price(money=found.money, interval=found.interval)
    return NameCheck(
        address=address,
        reason=reason.value,
        message=catalog_availability.describe_reason(reason, validation),
        normalized=f"{validation.normalized}@{domain.domain}"
        if domain is not None and validation.normalized
        else None,
        price=price,
    )


async def reset_account(conn: Conn, *, account_id: UUID) -> Mapping[str, int]:
    """Delete the contents of the sandbox account of a real one, without events; return the numbers of resources.

    Idempotent. Keys, plans, profile and audit belong to the real account and stay. The number of statements is
    fixed. Callers hold `account_lock`, since a running rehearsal writes rows that refer to the deleted ones.
    """
    sandbox_id = (await accounts.get_account(conn, account_id=account_id)).sandbox_id
    await store.lock_account(conn, account_id=sandbox_id)
    # Rows that refer to others are deleted first, so that a concurrent reader finds no broken reference.
    cleared = {
        "aliases": await claims.clear_aliases(conn, account_id=sandbox_id),
        "projects": await projects.clear(conn, account_id=sandbox_id),
        "domains": await account_domains.clear(conn, account_id=sandbox_id),
        "invoices": await invoices.clear(conn, account_id=sandbox_id),
    }
    webhooks, deliveries = await destinations.clear_destinations(conn, account_id=sandbox_id)
    return {**cleared, "webhooks": webhooks, "deliveries": deliveries}


def account_lock(account_id: UUID) -> asyncio.Lock:
    """Return the lock of a real account's sandbox. It exists while a request holds it or waits for it.

    Requests wait for it before they take a connection: otherwise twenty requests of one client would occupy all
    connections of the pool while they wait. Other event loops and processes wait for `lock_account`.
    """
    return _locks.setdefault((account_id, asyncio.get_running_loop()), asyncio.Lock())
