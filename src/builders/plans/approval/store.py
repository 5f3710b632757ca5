"""All SQL of approvals: policies, decisions, requests, and the amounts that were promoted without an approval."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from builders.kit.db.connections import Conn
from builders.kit.db.queries import accounts_with, query
from builders.kit.values import ids
from builders.kit.values.money import Money
from builders.plans.approval.policy import DEFAULT, POLICY, ApprovalPolicy
from builders.plans.approval.records import ApprovalRequest, Decision, Proposal, Verdict

_find_policy = query("""
    SELECT policy FROM plans_approval_policies WHERE account_id = %(account_id)s
""").scalar(dict)
_set_policy = query("""
    INSERT INTO plans_approval_policies AS own (account_id, policy, changed_at)
    VALUES (%(account_id)s, %(policy)s, %(now)s)
    ON CONFLICT (account_id) DO UPDATE SET policy = EXCLUDED.policy, changed_at = EXCLUDED.changed_at
""").run()


def _proposal(policy: Any, **columns: Any) -> Proposal:  # as JSON comes
    return Proposal(policy=POLICY.validate_python(policy), **columns)


find_proposal = query("""
    SELECT id, policy, proposed_by, confirmed_by, deciders, created_at, expires_at FROM plans_approval_proposals
    WHERE account_id = %(account_id)s AND expires_at > %(now)s
""").one(_proposal)
_set_proposal = query("""
    INSERT INTO plans_approval_proposals AS own
        (account_id, id, policy, proposed_by, confirmed_by, deciders, created_at, expires_at)
    VALUES (%(account_id)s, %(id)s, %(policy)s, %(proposed_by)s, %(confirmed_by)s, %(deciders)s, %(created_at)s,
            %(expires_at)s)
    ON CONFLICT (account_id) DO UPDATE
    SET id = EXCLUDED.id, policy = EXCLUDED.policy, proposed_by = EXCLUDED.proposed_by,
        confirmed_by = EXCLUDED.confirmed_by, deciders = EXCLUDED.deciders, created_at = EXCLUDED.created_at,
        expires_at = EXCLUDED.expires_at
""").run()
delete_proposal = query("""
    DELETE FROM plans_approval_proposals WHERE account_id = %(account_id)s
""").run()


def _policy(stored: Any) -> ApprovalPolicy:  # as JSON comes
    return DEFAULT if stored is None else POLICY.validate_python(stored)


async def get_policy(conn: Conn, *, account_id: UUID) -> ApprovalPolicy:
    """Return the policy in force."""
    return _policy(await _find_policy(conn, account_id=account_id))


async def set_policy(conn: Conn, *, account_id: UUID, policy: ApprovalPolicy, now: datetime) -> None:
    """Put a policy in force."""
    stored = Jsonb(POLICY.dump_python(policy, mode="json"))
    await _set_policy(conn, account_id=account_id, policy=stored, now=now)


async def set_proposal(conn: Conn, *, account_id: UUID, proposal: Proposal) -> None:
    """Store the account's proposal in place of an earlier one."""
    await _set_proposal(
        conn,
        account_id=account_id,
        id=proposal.id,
        policy=Jsonb(POLICY.dump_python(proposal.policy, mode="json")),
        proposed_by=proposal.proposed_by,
        confirmed_by=proposal.confirmed_by,
        deciders=proposal.deciders,
        created_at=proposal.created_at,
        expires_at=proposal.expires_at,
    )


def _policy_and_decision(
    policy: Any, is_asked: bool, verdict: str | None, **columns: Any
) -> tuple[Any, bool, Decision | None]:
    return policy, is_asked, None if verdict is None else Decision(verdict=Verdict(verdict), **columns)


# First the decisions that count for the plan, so that no number of later ones hides them.
_list_policy_and_decisions = query("""
    SELECT policy.policy, coalesce(request.by_mandate, false) AS is_asked, decision.*
    FROM (SELECT) AS one
    LEFT JOIN plans_approval_requests AS request
      ON request.account_id = %(account_id)s AND request.digest = %(digest)s
    LEFT JOIN plans_approval_policies AS policy ON policy.account_id = %(account_id)s
    LEFT JOIN (
        SELECT id, plan_id, digest, verdict, comment, decided_by, decided_at, expires_at, ended_at, used_by
        FROM plans_approval_decisions WHERE account_id = %(account_id)s AND digest = %(digest)s
        ORDER BY (ended_at IS NULL OR used_by IS NOT DISTINCT FROM %(plan_id)s) DESC, id DESC LIMIT %(limit)s
    ) AS decision ON true
""").all(_policy_and_decision)


async def get_policy_and_decisions(
    conn: Conn, *, account_id: UUID, digest: str, plan_id: UUID, limit: int
) -> tuple[ApprovalPolicy, Sequence[Decision], bool]:
    """Return the policy in force, the decisions about a digest, and whether a mandate asks for one."""
    rows = await _list_policy_and_decisions(
        conn, account_id=account_id, digest=digest, plan_id=plan_id, limit=limit
    )
    policy, is_asked, _ = rows[0]
    return _policy(policy), [decision for *_, decision in rows if decision is not None], is_asked


# Ends the decision of a person before another one is inserted.
end_decision = query("""
    UPDATE plans_approval_decisions SET ended_at = %(now)s
    WHERE account_id = %(account_id)s AND digest = %(digest)s AND decided_by = %(decided_by)s AND ended_at IS NULL
""").changes()
# A decision that stands; the earlier one of the person has ended.
insert_decision = query("""
    INSERT INTO plans_approval_decisions
        (account_id, id, plan_id, digest, verdict, comment, decided_by, decided_at, expires_at)
    VALUES (%(account_id)s, %(id)s, %(plan_id)s, %(digest)s, %(verdict)s, %(comment)s, %(decided_by)s,
            %(decided_at)s, %(expires_at)s)
""").run()
# All that stand, so that the next plan with the digest begins without any.
use_decisions = query("""
    UPDATE plans_approval_decisions SET ended_at = %(now)s, used_by = %(plan_id)s
    WHERE account_id = %(account_id)s AND digest = %(digest)s AND ended_at IS NULL
""").run()

_sum_amounts = query("""
    SELECT currency, sum(amount) FROM plans_approval_amounts
    WHERE account_id = %(account_id)s AND promoted_at > %(since)s AND plan_id <> %(plan_id)s GROUP BY currency
""").pairs(str, Decimal)
_insert_amounts = query("""
    INSERT INTO plans_approval_amounts AS own (account_id, plan_id, currency, amount, promoted_at)
    SELECT %(account_id)s, %(plan_id)s, currency, amount, %(now)s
    FROM unnest(%(currencies)s::text[], %(amounts)s::numeric[]) AS new (currency, amount)
    ON CONFLICT (account_id, plan_id, currency) DO UPDATE SET promoted_at = EXCLUDED.promoted_at
""").run()


async def sum_unapproved(conn: Conn, *, account_id: UUID, plan_id: UUID, since: datetime) -> Mapping[str, Money]:
    """Return what other plans cost that were promoted without an approval since a time, by currency."""
    sums = await _sum_amounts(conn, account_id=account_id, plan_id=plan_id, since=since)
    return {currency: Money(amount, currency) for currency, amount in sums.items()}


async def insert_unapproved(
    conn: Conn, *, account_id: UUID, plan_id: UUID, due: Mapping[str, Money], now: datetime
) -> None:
    """Record what a plan costs that is promoted without an approval; a resumed promotion counts again."""
    amounts = [each.amount for each in due.values()]
    await _insert_amounts(
        conn, account_id=account_id, plan_id=plan_id, currencies=list(due), amounts=amounts, now=now
    )


# Whether the deciders were not notified of the digest in the last day. The plan is the newest with the digest.
request_approval = query("""
    INSERT INTO plans_approval_requests AS own
        (account_id, digest, plan_id, manifest, requested_at, notified_at, by_mandate)
    VALUES (%(account_id)s, %(digest)s, %(plan_id)s, %(manifest)s, %(now)s, %(now)s, %(by_mandate)s)
    ON CONFLICT (account_id, digest) DO UPDATE
    SET plan_id = EXCLUDED.plan_id, requested_at = EXCLUDED.requested_at,
        by_mandate = own.by_mandate OR EXCLUDED.by_mandate,
        notified_at = CASE WHEN own.notified_at < %(since)s THEN EXCLUDED.notified_at ELSE own.notified_at END,
        mailed = CASE WHEN own.notified_at < %(since)s THEN NULL ELSE own.mailed END
    RETURNING notified_at = %(now)s
""").value(bool)
# Unless the maximum of a day is reached.
mark_mailed = query("""
    UPDATE plans_approval_requests SET mailed = true
    WHERE account_id = %(account_id)s AND digest = %(digest)s AND (
        SELECT count(*) FROM plans_approval_requests
        WHERE account_id = %(account_id)s AND mailed AND notified_at > %(since)s
    ) < %(limit)s
""").changes()
list_unmailed = accounts_with(
    "plans_approval_requests", only="mailed IS NULL AND notified_at > %(since)s"
).scalars(UUID, after=ids.NIL)
mark_summarized = query("""
    UPDATE plans_approval_requests SET mailed = false
    WHERE account_id = %(account_id)s AND mailed IS NULL AND notified_at > %(since)s
""").count()
# The next request of the digest notifies the deciders again.
end_request = query("""
    DELETE FROM plans_approval_requests WHERE account_id = %(account_id)s AND digest = %(digest)s
""").run()
# The newest of each manifest whose plan waits.
list_requests = query("""
    SELECT plan_id, digest, manifest, requested_at FROM (
        SELECT DISTINCT ON (manifest) plan_id, digest, manifest, requested_at FROM plans_approval_requests
        WHERE account_id = %(account_id)s ORDER BY manifest, requested_at DESC
    ) AS request
    WHERE EXISTS (
        SELECT FROM plans AS plan WHERE plan.account_id = %(account_id)s AND plan.id = request.plan_id
          AND plan.status = 'ready' AND plan.expires_at > %(now)s
    )
    ORDER BY requested_at DESC LIMIT %(limit)s
""").all(ApprovalRequest)
