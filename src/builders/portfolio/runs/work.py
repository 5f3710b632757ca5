"""Do the parts of runs: what each kind of work declares, the places of a worker, and one claim of a part."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from uuid import UUID

from builders.kit.db.connections import Database
from builders.kit.jobs.time_slices import TimeSlice
from builders.kit.outbound.client import Outbound
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.portfolio.runs import runs
from builders.portfolio.runs.records import Part, WorkKind

MAX_ATTEMPTS = 6  # of a part, over some minutes; then it is abandoned, unless its kind has other ones

_log = log.get_logger()


class Places:
    """The places that jobs of a worker have taken by name, such as those for one registrar.

    What hangs takes its own places alone: the others of the lane stay free.
    """

    def __init__(self) -> None:
        self._taken = Counter[str]()

    @contextmanager
    def take(self, limits: Mapping[str, int]) -> Iterator[bool]:
        """Take a place of each name until the end of the block; yield False when a name has no free place."""
        is_free = all(self._taken[name] < limit for name, limit in limits.items())
        taken = limits if is_free else ()
        self._taken.update(list(taken))
        try:
            yield is_free
        finally:
            self._taken.subtract(list(taken))
            self._taken = +self._taken  # without those that are zero


@asynccontextmanager
async def open_places(settings: Settings) -> AsyncIterator[Places]:
    """Open the places of a worker."""
    del settings
    yield Places()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What work on other services needs."""

    database: Database
    outbound: Outbound
    keyring: Keyring


@dataclass(frozen=True, slots=True, kw_only=True)
class PartTools(Tools):
    """What a worker gives to the work on a part."""

    time_slice: TimeSlice


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """How the parts of a kind are done.

    `do` works on a claimed part until its end or the end of the time slice, and `abandon` ends one that keeps
    failing. `list_places` gives the names and limits of the places that a part takes in its worker.
    """

    do: Callable[[PartTools, Part], Awaitable[None]]
    abandon: Callable[..., Awaitable[None]]
    list_places: Callable[..., Awaitable[Mapping[str, int]]] | None = None
    max_attempts: int = MAX_ATTEMPTS


WORK: dict[WorkKind, Work] = {}


def declare(kind: WorkKind, work: Work) -> None:
    """Declare how the parts of a kind are done, in the `jobs` of a package."""
    WORK[kind] = work


async def do_part(tools: PartTools, work: Work, *, account_id: UUID, kind: WorkKind, subject_id: UUID) -> bool:
    """Claim the oldest open part of a subject and work on it; return whether the subject has an open part.

    The attempts are counted by the claims, so that a part whose workers are killed is abandoned too.
    """
    async with tools.database.transaction() as conn:
        part = await runs.claim_part(conn, account_id=account_id, kind=kind, subject_id=subject_id)
        if part is None:
            return False
        is_abandoned = part.attempts > work.max_attempts
        if is_abandoned:
            _log.error("part_abandoned", kind=kind, run_id=str(part.run_id), subject_id=str(subject_id))
            await work.abandon(conn, part=part)
    try:
        if not is_abandoned:
            await work.do(tools, part)
    except runs.PartLost:
        _log.warning("part_lost", kind=kind, run_id=str(part.run_id), subject_id=str(subject_id))
        return False
    async with tools.database.transaction() as conn:
        return await runs.release_part(conn, part=part)
