"""Numbers and times out of range, in any place of a recorded answer, are unknown or end in RegistrarFailed."""

import json
import re
import tomllib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from typing import Any

import pytest

from builders.portfolio.billing.lines import is_storable
from builders.portfolio.registrars import adapter, listings
from builders.portfolio.registrars.adapter import Adapter
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.providers import ADAPTERS
from builders.portfolio.registrars.records import HeldTransfer, RegistrarDomain
from builders.portfolio.registrars.rows import FIRST_YEAR, LAST_YEAR
from tests.portfolio.registrars.recorded_make import RECORDED, Replay, adapter_of

# JSON numbers and the texts of them, of times, and of what Python reads as one.
HUGE = (
    *(
        "1" + "0" * 24,
        "-1" + "0" * 24,
        "9" * 4_000,
        "9" * 5_000,
        "1e400",
        "-1e25",
        "1E+9999999",
        "NaN",
        "Infinity",
    ),
    *("-62135596800001", "253402300800000", "9223372036854775808"),
    *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "99999-01-01", "12/31/9999"),
)
NUMBER = re.compile(r"-?\d[\d.]*")
# A number or a time: alone, as a text, as the text or an attribute of an element.
LEAF = re.compile(r"""(?P<json>(?<=[:\[,])\s*-?\d[\d.eE+-]*(?=\s*[,\]}]))|(?<=["'>])\d[\d:./T Z+-]*(?=["'<])""")


def altered(responses: Mapping[str, str]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the responses with one value out of range each, and which of them has it."""
    for path, body in responses.items():
        for found in LEAF.finditer(body):
            for huge in HUGE:
                wrong = json.dumps(huge) if found["json"] and not NUMBER.fullmatch(huge) else huge
                yield path, {**responses, path: f"{body[: found.start()]}{wrong}{body[found.end() :]}"}


def require_plausible(held: RegistrarDomain) -> None:
    """Check that a row has no time that no domain has, and can be stored."""
    cleaned = listings.cleaned(held)
    require_years(cleaned.expires_at, cleaned.created_at)


def require_dated(transfer: HeldTransfer | None) -> None:
    """Check that a transfer has no time that no domain has."""
    if transfer is not None:
        require_years(transfer.started_at, transfer.completed_at)


def require_years(*times: datetime | None) -> None:
    assert all(FIRST_YEAR <= each.year <= LAST_YEAR for each in times if each is not None)


async def read_rows(pages: AsyncIterator[Sequence[Any]]) -> None:
    async for page in adapter.bounded(pages):
        for row in page:
            require_plausible(row) if isinstance(row, RegistrarDomain) else is_storable(row)


async def read_domains(client: Adapter) -> None:
    await read_rows(client.list_domains())


async def read_charges(client: Adapter) -> None:
    if client.profile.capabilities.billing:
        await read_rows(client.list_charges(since=date(2026, 3, 1), until=date(2026, 3, 31)))


async def read_domain(client: Adapter) -> None:
    await client.get_domain("example.com")


async def read_transfer(client: Adapter) -> None:
    require_dated(await client.find_transfer("example.com"))


READS = (read_domains, read_charges, read_domain, read_transfer)  # as a sync does


@pytest.mark.parametrize("provider", sorted(ADAPTERS))
async def test_a_value_out_of_range_is_unknown_or_malformed(provider: str) -> None:
    recorded = tomllib.loads((RECORDED / f"{provider}.toml").read_text())

    async def ask(read: Callable[[Adapter], Awaitable[None]], responses: Mapping[str, str]) -> Replay:
        """Read with a client of its own. Raise any error but that of a registrar."""
        replay = Replay(responses, ends=recorded.get("ends"), headers=recorded.get("headers"))
        with suppress(RegistrarFailed):
            await read(adapter_of(provider, replay))
        return replay

    whole = {read: (await ask(read, recorded["responses"])).asked for read in READS}
    asked = 0
    for path, responses in altered(recorded["responses"]):
        for read in READS:
            if path in whole[read]:  # another one reads what it read before
                asked += (await ask(read, responses)).requests
    assert asked > len(HUGE)


@pytest.mark.parametrize("provider", sorted(ADAPTERS))
async def test_a_response_that_is_cut_anywhere_is_malformed(provider: str) -> None:
    recorded = tomllib.loads((RECORDED / f"{provider}.toml").read_text())
    whole = {path: body.strip() for path, body in recorded["responses"].items()}
    for part in (0.0, 0.1, 0.5, 0.9, 0.999):
        responses = {path: body[: int(len(body) * part)] for path, body in whole.items()}
        with pytest.raises(RegistrarFailed) as failed:
            await adapter_of(provider, Replay(responses, headers=recorded.get("headers"))).verify()
        assert failed.value.kind is RegistrarFailure.MALFORMED
