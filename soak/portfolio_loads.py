"""The largest requests about a portfolio: imports, bills, exports, and the calendar without credentials."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from typing import Any

import httpx

from soak.scenario import Call, Scenario, Target, client, looping

LOOPS = 6
JOB_ROWS, INLINE_ROWS, BILL_ROWS, NAMES = 50_000, 2_000, 10_000, 60_000
IMPORT, BILLS = "/v1/portfolio/import", "/v1/portfolio/registrars/billing/import"
HEADER = "domain,expires,registrar,purchase price,purchase currency\n"
Body = Callable[[int], dict[str, Any]]  # of the nth request, as arguments of httpx

_number = count()


def _domains(n: int, rows: int) -> dict[str, Any]:
    lines = "".join(f"soak{n}-{row}.com,2027-03-01,Porkbun,9.99,USD\n" for row in range(rows))
    return {"content": (HEADER + lines).encode(), "headers": {"Content-Type": "text/csv"}}


def _bill(n: int) -> dict[str, Any]:
    lines = "".join(f"2026-03-01,{n}-{row},d{row}.com,renewal,1,10.98,USD\n" for row in range(BILL_ROWS))
    return {"json": {"csv": f"Date,Order ID,Domain,Type,Years,Amount,Currency\n{lines}", "provider": "namecheap"}}


def _many_names(n: int) -> dict[str, Any]:
    """Return a bill of 1 MB whose only row has 60,000 members."""
    row = {f"m{n}x{at}": "1" for at in range(NAMES)}
    return {"json": {"rows": [{"domain": "d1.com", "date": "2026-03-01", "amount": "1.00"} | row]}}


@asynccontextmanager
async def _posting(target: Target, path: str, body: Body) -> AsyncIterator[None]:
    """Post a different body in each request of six loops."""
    async with client(target, target.hostile.domainer_keys[0]) as http:

        async def post() -> httpx.Response:
            # In a thread: a large body takes long to write, and would delay the other loops.
            arguments = await asyncio.to_thread(body, next(_number))
            return await http.post(path, **arguments)

        async with looping([post] * LOOPS):
            yield


@asynccontextmanager
async def _reading(target: Target, paths: Sequence[str], *, has_key: bool) -> AsyncIterator[None]:
    async with client(target, target.hostile.domainer_keys[0] if has_key else None) as http:
        token = target.hostile.calendar_token
        calls: Sequence[Call] = [partial(http.get, path.format(token=token)) for path in paths] * LOOPS
        async with looping(calls[:LOOPS]):
            yield


SCENARIOS = [
    Scenario(
        name="large-imports",
        description=f"imports of {JOB_ROWS:,} domains in {LOOPS} loops, run by jobs",
        attack=partial(_posting, path=IMPORT, body=partial(_domains, rows=JOB_ROWS)),
    ),
    Scenario(
        name="small-imports",
        description=f"imports of {INLINE_ROWS:,} domains in {LOOPS} loops, run by requests",
        attack=partial(_posting, path=IMPORT, body=partial(_domains, rows=INLINE_ROWS)),
    ),
    Scenario(
        name="bills",
        description=f"bills of {BILL_ROWS:,} lines in {LOOPS} loops",
        attack=partial(_posting, path=BILLS, body=_bill),
    ),
    Scenario(
        name="many-names",
        description=f"bills with {NAMES:,} different names of members in {LOOPS} loops",
        attack=partial(_posting, path=BILLS, body=_many_names),
    ),
    Scenario(
        name="exports",
        description=f"exports of the portfolio in {LOOPS} loops",
        attack=partial(_reading, paths=("/v1/portfolio/export", "/v1/portfolio/export.csv"), has_key=True),
    ),
    Scenario(
        name="calendar",
        description=f"the calendar of the portfolio in {LOOPS} loops, without credentials",
        attack=partial(_reading, paths=("/v1/portfolio/renewals.ics?token={token}",), has_key=False),
    ),
]
