"""Query registries about domains without a registrar connection, slowly: one request at a time to each server.

Servers come from IANA's list (RFC 9224), fetched once a day. After a 429 or 503, a server is blocked for its
Retry-After, and longer each time. Own requests and parser: whoisit, the package for this, brings two more HTTP
clients and a parser of dates that guesses. A few redirects are followed, within https, as RFC 7480 asks.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from http import HTTPStatus
from operator import itemgetter
from urllib.parse import urljoin, urlsplit

from psycopg.types.json import Jsonb

from builders.identity import accounts
from builders.kit.db.connections import Database
from builders.kit.outbound.client import Outbound, OutboundFailed, Response
from builders.kit.process import log
from builders.kit.values import clock
from builders.portfolio.domains import changes
from builders.portfolio.domains.rdap import RdapUnreadable, RegistryFacts, patch_of, read_domain, read_services
from builders.portfolio.domains.records import ChangeSource
from builders.portfolio.domains.store import domains as store, rdap
from builders.portfolio.domains.store.rdap import DueDomain, Later
from builders.portfolio.domains.today import get_today

LIST_AGE = timedelta(days=1)
CLAIM_TIME = timedelta(hours=1)  # a worker that is killed leaves its domains for so long
RUN_SIZE = 200  # domains of one run
SERVER_SIZE = 60  # of them at one server, a minute of requests
PAUSE_S = 1.0  # between two requests to a server
BLOCK_S = 60  # when a server refuses and does not say for how long; doubled each time
MAX_BLOCK_S = 86_400
SOON, LATE = timedelta(days=1), timedelta(days=7)  # until the next question, near the expiry and else
NEAR = timedelta(days=60)
FIRST_RETRY = timedelta(hours=1)  # doubled each time, up to LATE
UNKNOWN_SERVER = timedelta(days=30)
MAX_REDIRECTS = 3
MAX_LIST_BYTES, MAX_ANSWER_BYTES = 2 * 2**20, 256 * 1024
_REFUSED = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
_REDIRECTS = {
    HTTPStatus.MOVED_PERMANENTLY,
    HTTPStatus.FOUND,
    HTTPStatus.SEE_OTHER,
    HTTPStatus.TEMPORARY_REDIRECT,
    HTTPStatus.PERMANENT_REDIRECT,
}
_ACCEPT = {"Accept": "application/rdap+json, application/json"}

_log = log.get_logger()


async def refresh_rdap(database: Database, *, outbound: Outbound, url: str, pause_s: float = PAUSE_S) -> int:
    """Ask about the domains that are due, at most RUN_SIZE; return how many were answered."""
    await _refresh_services(database, outbound, url)
    by_server = await _claim(database)
    answered = await asyncio.gather(
        *(_ask_server(database, outbound, server, due, pause_s) for server, due in by_server.items()),
        return_exceptions=True,
    )
    for each in answered:
        if isinstance(each, BaseException):
            raise each
    return sum(each for each in answered if isinstance(each, int))


async def _refresh_services(database: Database, outbound: Outbound, url: str) -> None:
    """Fetch IANA's list when it is old; keep the old one when that fails."""
    now = clock.now()
    async with database.connection() as conn:
        fetched_at = await rdap.find_fetched_at(conn)
    if fetched_at is not None and now - fetched_at < LIST_AGE:
        return
    try:
        services = read_services(_body(await _fetch(outbound, url, max_bytes=MAX_LIST_BYTES)))
    except (OutboundFailed, RdapUnreadable) as error:
        _log.warning("rdap_servers_not_fetched", error=str(error))
        return
    async with database.transaction() as conn:
        await rdap.replace_services(conn, tlds=services.keys(), urls=services.values(), now=now)


async def _claim(database: Database) -> Mapping[str, Sequence[DueDomain]]:
    """Claim the due domains; return those to query now, by server.

    Domains of sandbox accounts are never queried, and domains of a blocked server after the end of the block.
    """
    now = clock.now()
    by_server: dict[str, list[DueDomain]] = {}
    later: list[Later] = []
    async with database.transaction() as conn:
        due: Sequence[DueDomain] = []
        if found := await rdap.list_due(conn, now=now, limit=RUN_SIZE):
            account_ids, domain_ids = zip(*sorted(found, key=itemgetter(1)), strict=True)
            due = await rdap.claim(conn, account_ids=account_ids, ids=domain_ids, now=now, due_at=now + CLAIM_TIME)
        owners = await accounts.load_real_accounts(conn, account_ids={each.account_id for each in due})
        services = await rdap.list_services(conn, tlds=[_tld(each) for each in due])
        blocked = await rdap.list_blocked(conn, now=now)
        for domain in due:
            server = services.get(_tld(domain))
            if owners.get(domain.account_id) != domain.account_id:
                later.append(Later(domain=domain, due_at=None, failures=0))
            elif server is None:
                wait = UNKNOWN_SERVER if services else CLAIM_TIME
                later.append(Later(domain=domain, due_at=now + wait, failures=domain.failures))
            elif server in blocked:
                later.append(Later(domain=domain, due_at=blocked[server], failures=domain.failures))
            elif len(of_server := by_server.setdefault(server, [])) < SERVER_SIZE:
                of_server.append(domain)
            else:
                later.append(Later(domain=domain, due_at=now, failures=domain.failures))
        await rdap.postpone(conn, domains=later)
    return by_server


def _tld(domain: DueDomain) -> str:
    return domain.domain.rpartition(".")[2]


async def _ask_server(
    database: Database, outbound: Outbound, server: str, due: Sequence[DueDomain], pause_s: float
) -> int:
    """Query a server about each domain, until it refuses; return the number of answers."""
    for at, domain in enumerate(due):
        if at:
            await asyncio.sleep(pause_s)
        try:
            url = f"{server}domain/{domain.domain}"
            response = await _fetch(outbound, url, max_bytes=MAX_ANSWER_BYTES)
            if response.status in _REFUSED:
                await _block(database, server, response, due[at:])
                return at
            is_unknown = response.status == HTTPStatus.NOT_FOUND
            facts = None if is_unknown else read_domain(_body(response), domain=domain.domain)
            await _record(database, domain, facts)
        except (OutboundFailed, RdapUnreadable) as error:
            _log.info("rdap_unanswered", domain_id=str(domain.id), server=server, error=str(error))
            await _retry(database, domain)
        except Exception:  # noqa: BLE001 - whatever is wrong with one domain, the others are due, too
            _log.exception("rdap_failed", domain_id=str(domain.id), server=server)
            await _retry(database, domain)
    if due:
        async with database.transaction() as conn:
            await rdap.unblock(conn, url=server)
    return len(due)


async def _fetch(outbound: Outbound, url: str, *, max_bytes: int) -> Response:
    """Return the response after redirects, which never leave https. Raise OutboundFailed, RdapUnreadable."""
    for _ in range(1 + MAX_REDIRECTS):
        response = await outbound.request("GET", url, headers=_ACCEPT, max_bytes=max_bytes)
        if response.status not in _REDIRECTS:
            return response
        location = response.headers.get("Location", "")
        try:
            target = urljoin(url, location)
            is_allowed = bool(location) and urlsplit(target).scheme in {"https", urlsplit(url).scheme}
        except ValueError:
            is_allowed = False
        if not is_allowed:
            raise RdapUnreadable(f"The response redirects to {location[:200]!r}.")
        url = target
    raise RdapUnreadable(f"The response redirects more than {MAX_REDIRECTS} times.")


def _body(response: Response) -> bytes:
    if response.status != HTTPStatus.OK:
        raise RdapUnreadable(f"The response has the status {response.status}.")
    return response.body


async def _record(database: Database, due: DueDomain, facts: RegistryFacts | None) -> None:
    """Fill in the registry data, under the lock of the domain: a concurrent change of a user takes precedence."""
    now = clock.now()
    async with database.transaction() as conn:
        domains = await store.lock(conn, account_id=due.account_id, ids=[due.id])
        if not domains or domains[0].connection_id is not None:
            return
        after = domains[0]
        if facts is not None:
            _, before = await rdap.find_check(conn, account_id=due.account_id, domain_id=due.id)
            today = await get_today(conn, account_id=due.account_id)
            patch = patch_of(after, facts, before=before, today=today)
            after = await changes.change_domain(
                conn,
                account_id=due.account_id,
                domain=after,
                patch=patch,
                today=today,
                source=ChangeSource.REGISTRY,
            )
        is_near = after.expires_at is not None and abs(after.expires_at - now) < NEAR
        await rdap.finish(
            conn,
            account_id=due.account_id,
            id=due.id,
            facts=None if facts is None else Jsonb(facts.stored()),
            due_at=now + (SOON if is_near else LATE),
            now=now,
        )


async def _retry(database: Database, domain: DueDomain) -> None:
    wait = min(FIRST_RETRY * 2 ** min(domain.failures, 10), LATE)
    async with database.transaction() as conn:
        later = Later(domain=domain, due_at=clock.now() + wait, failures=min(domain.failures + 1, 100))
        await rdap.postpone(conn, domains=[later])


async def _block(database: Database, server: str, response: Response, unasked: Sequence[DueDomain]) -> None:
    """Block a server for its Retry-After, and schedule its domains for the end of the block."""
    said = response.headers.get("Retry-After", "").strip()
    pause_s = min(int(said), MAX_BLOCK_S) if said.isdecimal() and len(said) < 10 else BLOCK_S  # noqa: PLR2004 - digits
    async with database.transaction() as conn:
        until = await rdap.block(
            conn,
            url=server,
            pause_s=pause_s,
            first_s=BLOCK_S,
            now_s=clock.now().timestamp(),
        )
        later = [Later(domain=each, due_at=until, failures=each.failures) for each in unasked]
        await rdap.postpone(conn, domains=later)
    _log.info("rdap_server_refused", server=server, status=response.status, until=until.isoformat())
