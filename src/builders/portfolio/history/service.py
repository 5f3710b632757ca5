"""The public interface of the history of domains."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from builders.identity import accounts
from builders.identity.records import AuditAction
from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.portfolio.domains import changes, lookups
from builders.portfolio.domains.records import Domain, PortfolioDomainStatus
from builders.portfolio.history import store
from builders.portfolio.history.errors import DomainHasHistory
from builders.portfolio.history.records import DomainHistory
from builders.portfolio.ledger import entries
from builders.portfolio.team.records import Access

MAX_TOTALS = 50  # sums of an audit entry
_NAMES = {"entries": "ledger entries", "sales": "sales", "charges": "charges", "parking_days": "days of parking"}


async def list_history(
    conn: Conn,
    *,
    account_id: UUID,
    domain_ids: Sequence[UUID],
    since: datetime,
    except_entry_ids: Sequence[UUID] = (),
    except_import_id: UUID | None = None,
) -> Mapping[UUID, DomainHistory]:
    """Return what is recorded on each of the domains, without some entries and what an import recorded.

    Registrars count that have listed the domain after `since`.
    """
    if not domain_ids:
        return {}
    histories = await store.list_history(
        conn,
        account_id=account_id,
        domain_ids=domain_ids,
        except_entry_ids=except_entry_ids,
        except_import_id=except_import_id,
        since=since,
    )
    return {each.domain_id: each for each in histories}


async def remove_domain(conn: Conn, *, access: Access, key: str, with_history: bool) -> None:
    """Remove a domain; publish portfolio.domain.removed. With its history, leave an audit entry with its totals.

    Raise DomainNotFound, and DomainHasHistory unless `with_history`.
    """
    account_id = access.portfolio_id
    domain = await lookups.get_domain(conn, account_id=account_id, key=key)
    await lookups.lock_for_removal(conn, account_id=account_id, ids=[domain.id])
    known = await list_history(conn, account_id=account_id, domain_ids=[domain.id], since=clock.now())
    recorded = known[domain.id].recorded if domain.id in known else {}
    if recorded and not with_history:
        raise _refusal(domain, recorded)
    if recorded:
        totals = await _totals(conn, account_id=account_id, domain_id=domain.id)
        await accounts.record_audit(
            conn,
            account_id=access.owner_id,
            actor=access.actor,
            action=AuditAction.DOMAIN_HISTORY_DELETED,
            about={"portfolio_id": str(account_id), "domain": domain.domain, **recorded, **totals},
        )
    await changes.remove_domain(conn, account_id=account_id, domain_id=domain.id, member_id=access.member_id)


def _refusal(domain: Domain, recorded: Mapping[str, int]) -> DomainHasHistory:
    listed = ", ".join(f"{_NAMES[name]} ({count:,})" for name, count in recorded.items())
    status = PortfolioDomainStatus.SOLD if recorded.get("sales") else PortfolioDomainStatus.DROPPED
    keep = f'keep it with PATCH /v1/portfolio/domains/{domain.id} {{"status": "{status}"}}'
    if not domain.status.is_held:
        keep = f"keep it with its status `{domain.status}`"
    return DomainHasHistory(
        f"The removal of {domain.domain} would delete what is recorded on it: {listed}.",
        domain=domain.domain,
        domain_id=str(domain.id),
        history=dict(recorded),
        next_action=f"To preserve the history, {keep}. To delete it for good, add ?history=delete.",
    )


async def _totals(conn: Conn, *, account_id: UUID, domain_id: UUID) -> Mapping[str, str]:
    """Return the sums of the entries for an audit entry: `total.renewal.USD`."""
    found = await entries.list_kind_sums(conn, account_id=account_id, domain_id=domain_id, limit=MAX_TOTALS)
    return {f"total.{kind}.{money.currency}": str(money) for kind, money in found}
