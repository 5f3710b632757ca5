"""Check the credentials of a connection with the registrar."""

import asyncio
from datetime import datetime

from builders.kit.db.connections import Database
from builders.kit.outbound.client import Outbound
from builders.portfolio.registrars.api_client import Pace
from builders.portfolio.registrars.change_records import Verification
from builders.portfolio.registrars.connections import make_adapter, pace_of
from builders.portfolio.registrars.drafts import Draft
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import Connection, Profile

VERIFY_S = 20.0  # of the request that checks credentials, with its retries


class _Unlimited:
    """The pace of a connection that does not exist yet."""

    async def acquire(self) -> None:
        """Return at once."""


async def verify(
    database: Database, *, outbound: Outbound, profile: Profile, present: Connection | None, draft: Draft
) -> RegistrarFailed | None:
    """Return why the registrar does not accept the credentials, or does not respond; None when it does."""
    pace: Pace = _Unlimited()
    if present is not None and present.base_url == draft.base_url:
        pace = pace_of(database, present, profile, max_wait_s=VERIFY_S)
    adapter = make_adapter(
        profile,
        outbound=outbound,
        pace=pace,
        base_url=draft.base_url or profile.base_urls[draft.environment],
        credentials=draft.credentials,
    )
    try:
        async with asyncio.timeout(VERIFY_S):
            await adapter.verify()
    except TimeoutError:
        return RegistrarFailed(
            RegistrarFailure.UNAVAILABLE, hint=f"There was no response in {VERIFY_S:.0f} seconds."
        )
    except RegistrarFailed as failure:
        return failure
    return None


def describe_check(failure: RegistrarFailed | None, now: datetime) -> Verification:
    """Return the result of a verification."""
    if failure is None:
        return Verification(
            ok=True, code=None, message="The registrar accepts the credentials.", hint=None, checked_at=now
        )
    return Verification(ok=False, code=failure.kind, message=str(failure), hint=failure.hint, checked_at=now)
