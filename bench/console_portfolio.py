"""Measure the pages of a large portfolio in the console; a part of `python -m bench.console`.

A page is compared with the calls of the API that it makes, which are sent one after the other with the same
cookie, in turn. Times are of the clock, PostgreSQL included; the difference is of processor time.
"""

import re
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple
from urllib.parse import parse_qsl
from uuid import UUID

import httpx
import psycopg

from bench import portfolio, portfolio_files
from builders.console import imports, pages

DOMAINS = 20_000
STATEMENTS = Path(__file__).with_name("console_rows.sql")
BOUND_MS, TARGET_MS, ROUNDS = 300.0, 10.0, 7
_HTML = {"Accept": "text/html"}
_CSRF = re.compile(r'name="_csrf" value="([^"]+)"')
_OWN = {"Sec-Fetch-Site": "same-origin"}
_LIST, _SELECTED = "portfolio/domains", "tag=geo&tld=com&registrar=Porkbun"
_SORTS = ("-created_at", "domain", "expires_at", "-net", "roi")
PATHS = (
    "portfolio",
    "portfolio?year=2025",
    f"portfolio?{_SELECTED}",
    *(f"{_LIST}?sort={each}" for each in _SORTS),
    *(f"{_LIST}?sort={each}&{_SELECTED}" for each in ("domain", "-net")),
    f"{_LIST}?q=d1999",
    f"{_LIST}/{{domain_id}}",
    "portfolio/renewals",
    "portfolio/renewals?within_days=365",
    "portfolio/renewals?within_days=365&drop_max_income=20",
    "portfolio/parking",
    "portfolio/notices",
    "portfolio/import",
    "portfolio/registrars",
    "portfolio/connect",
    "portfolio/registrars/inventory",
    "portfolio/registrars/charges",
    "portfolio/registrars/reconcile",
    "team",
)


class _Times(NamedTuple):
    """Times of some work in milliseconds."""

    clock: float
    processor: float


def fill(conninfo: str, owner: UUID) -> None:
    """Add to the portfolio what its registrars hold and charge, a month of parking, and notices."""
    with psycopg.connect(conninfo) as conn:
        conn.execute("SELECT set_config('bench.account', %s, true)", [str(owner)])
        conn.execute(STATEMENTS.read_bytes())


async def measure(client: httpx.AsyncClient) -> Sequence[str]:
    """Return a line for each page of the portfolio of the client's account."""
    found = (await client.get("/v1/portfolio/domains?limit=1")).raise_for_status().json()["items"][0]
    lines = [await _page_line(client, path.format(domain_id=found["id"])) for path in PATHS]
    return [*lines, await _preview_line(client)]


async def _page_line(client: httpx.AsyncClient, path: str) -> str:
    where, _, query = path.partition("?")
    page, values = pages.find(where)
    calls = pages.calls_of(page, values, parse_qsl(query)).values()

    async def open_page() -> None:
        (await client.get(f"/console/{path}", headers=_HTML)).raise_for_status()

    async def call() -> None:
        for each in calls:
            (await client.get(each.target)).raise_for_status()

    return await _line(page.path + query.join(("?", "")) if query else page.path, open_page, call)


async def _preview_line(client: httpx.AsyncClient) -> str:
    content = portfolio_files.table().encode()
    form = await client.get("/console/portfolio/import", headers=_HTML)
    token = _CSRF.search(form.raise_for_status().text)
    assert token is not None, "the page has no form"
    sent = {"_csrf": token[1], "_page": "portfolio/import", "format": "auto"}

    async def post() -> None:
        answer = await client.post(
            "/console/do/import-preview",
            data=sent,
            files={"source": ("mine.csv", content, "text/csv")},
            headers={**_HTML, **_OWN},
        )
        answer.raise_for_status()
        assert f"{portfolio_files.ROWS:,}" in answer.text or str(portfolio_files.ROWS) in answer.text

    async def call() -> None:
        headers = {"Content-Type": "text/csv", **_OWN}
        (await client.post(imports.PREVIEW, content=content, headers=headers)).raise_for_status()

    return await _line(f"preview of an import of {portfolio_files.ROWS:,} rows", post, call)


async def _line(name: str, page: Callable[[], Awaitable[None]], calls: Callable[[], Awaitable[None]]) -> str:
    await page()
    await calls()
    rounds = [(await _times(page), await _times(calls)) for _ in range(ROUNDS)]
    whole, parts = (median(each[at].clock for each in rounds) for at in (0, 1))
    more = median(each.processor - other.processor for each, other in rounds)
    over = " (over)" if whole > BOUND_MS else ""
    own = " (over)" if more > TARGET_MS else ""
    return f"| {name} | {whole:.0f}{over} | {parts:.0f} | {whole / parts:.2f} | {more:+.1f}{own} |"


async def _times(work: Callable[[], Awaitable[None]]) -> _Times:
    clock, processor = time.perf_counter(), time.process_time()
    await work()
    return _Times((time.perf_counter() - clock) * 1000, (time.process_time() - processor) * 1000)


def head() -> str:
    """Return the head of the table."""
    processor = f"processor time of the page itself, ms (target {TARGET_MS:+.0f})"
    return (
        f"\n{DOMAINS:,} domains, {DOMAINS * portfolio.YEARS:,} entries and those of sales:\n\n"
        f"| page | page, ms (bound {BOUND_MS:.0f}) | its calls, ms | page / calls | {processor} |\n"
        "|---|---|---|---|---|"
    )
