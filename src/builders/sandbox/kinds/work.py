"""A batch of like actions on its way, and how some of it can be refused."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.sandbox.error_codes import StepError
from builders.sandbox.kinds.live import Live
from builders.sandbox.means import Means
from builders.sandbox.records import Action, Finding, Ground


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """An action, its position in the plan, and the id of the resource that it makes or changes."""

    position: int
    action: Action
    resource_id: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A batch: actions on one kind, of one sort or, where they are tangled, of all."""

    ground: Ground
    manifest: str
    tasks: Sequence[Task]
    means: Means
    made: Mapping[str, UUID]  # the ids of what the plan makes, by address


class StepsRefused(Exception):
    """Some steps of a batch cannot be done; nothing of it was."""

    def __init__(self, faults: Mapping[int, StepError]) -> None:
        super().__init__(f"{len(faults)} steps cannot be done")
        self.faults = faults  # by position


@dataclass(frozen=True, slots=True)
class Doer:
    """How a kind is promoted."""

    drift: Callable[[str, Sequence[Action], Live], Iterator[Finding]]  # where it is not as it was planned on
    execute: Callable[[Conn, Work], Awaitable[None]]  # all or none; raises one of the refusals
    fault: Callable[[str, Task, Exception], StepError | None]  # what a refusal says of one task of the batch
    refusals: tuple[type[Exception], ...]
