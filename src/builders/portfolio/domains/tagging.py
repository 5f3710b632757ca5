"""Tags of many domains at once."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.http.bulk import RowOutcome, RowProblem, RowResult
from builders.kit.values import ids
from builders.kit.values.domain_names import find_a_label
from builders.portfolio.domains import changes
from builders.portfolio.domains.fields import MAX_TAGS
from builders.portfolio.domains.records import Domain, DomainChange, domain_patch
from builders.portfolio.domains.store import domains as store

_UNKNOWN = RowProblem(code="portfolio_domain_not_found", message="The portfolio has no such domain.")
_FULL = RowProblem(code="too_many_tags", message=f"A domain has at most {MAX_TAGS} tags.", field="add")


async def change_tags(
    conn: Conn, *, account_id: UUID, keys: Sequence[str], add: Sequence[str], remove: Sequence[str]
) -> Sequence[RowResult]:
    """Add tags to domains, given by id or name, and remove others; return a result for each.

    A constant number of statements. Publish what changed of each domain.
    """
    found = await _lock(conn, account_id=account_id, keys=keys)
    wanted = {each.id: _tagged(each, add, remove) for each in found.values()}
    patches = [
        DomainChange(id=domain_id, patch=domain_patch(tags=tags))
        for domain_id, tags in wanted.items()
        if len(tags) <= MAX_TAGS
    ]
    written = await changes.change_domains(conn, account_id=account_id, changes=patches)
    outcomes = {each.id: each.outcome for each in written}
    results = []
    for index, key in enumerate(keys):
        domain = found.get(key)
        if domain is None:
            results.append(RowResult(index=index, domain=key, outcome=RowOutcome.ERROR, errors=[_UNKNOWN]))
            continue
        # A domain that is given twice is changed once.
        outcome = outcomes.get(domain.id, RowOutcome.ERROR)
        outcomes |= {domain.id: RowOutcome.UNCHANGED} if outcome is RowOutcome.UPDATED else {}
        errors = [_FULL] if outcome is RowOutcome.ERROR else []
        results.append(RowResult(index=index, domain=domain.domain, id=domain.id, outcome=outcome, errors=errors))
    return results


async def _lock(conn: Conn, *, account_id: UUID, keys: Sequence[str]) -> Mapping[str, Domain]:
    """Return those of the keys that are domains, locked until the transaction ends."""
    by_id = {key: found for key in keys if (found := ids.find(key)) is not None}
    names = {key: name for key in keys if key not in by_id and (name := find_a_label(key)) is not None}
    named = await store.list_by_name(conn, account_id=account_id, names=sorted(set(names.values())))
    id_of = {each.domain: each.id for each in named}
    by_id |= {key: id_of[name] for key, name in names.items() if name in id_of}
    locked = await store.lock(conn, account_id=account_id, ids=sorted(set(by_id.values())))
    domains = {each.id: each for each in locked}
    return {key: domains[domain_id] for key, domain_id in by_id.items() if domain_id in domains}


def _tagged(domain: Domain, add: Sequence[str], remove: Sequence[str]) -> Sequence[str]:
    return list(dict.fromkeys((*(each for each in domain.tags if each not in remove), *add)))
