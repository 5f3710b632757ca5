"""A batch of actions in execution, and how some of them can be refused."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Self
from uuid import UUID

from builders.invoices.records import Seller
from builders.kit.db.connections import Conn
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.sandbox.planning.live_state import LiveState
from builders.sandbox.records import Action, Finding, TargetAccount
from builders.sandbox.step_errors import StepError

PAYABLE_WITHIN = timedelta(days=14)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunParameters:
    """What a promotion needs besides its plan: the operator's terms, and the keyring that seals secrets."""

    quarantine: timedelta  # of released names
    cooling_off: timedelta  # after a claim; a release within it undoes the claim
    payable_within: timedelta  # of an invoice
    seller: Seller
    keyring: Keyring = field(repr=False)

    @classmethod
    def of(cls, settings: Settings, keyring: Keyring) -> Self:
        """Return the parameters by the settings of the process."""
        return cls(
            quarantine=timedelta(days=settings.quarantine_days),
            cooling_off=timedelta(hours=settings.cooling_off_hours),
            payable_within=PAYABLE_WITHIN,
            seller=Seller.of(settings),
            keyring=keyring,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """An action, its position in the plan, and the id of the resource that it creates or changes."""

    position: int
    action: Action
    resource_id: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Tasks on one kind of resource: of one action or, where forwarding requires it, of all."""

    target: TargetAccount
    manifest: str
    tasks: Sequence[Task]
    parameters: RunParameters
    made: Mapping[str, UUID]  # the ids of what the plan creates, by address


class StepsRefused(Exception):
    """Some steps of a batch cannot be done; the batch did nothing."""

    def __init__(self, faults: Mapping[int, StepError]) -> None:
        super().__init__(f"{len(faults)} steps cannot be done")
        self.faults = faults  # by position


@dataclass(frozen=True, slots=True)
class Executor:
    """How a kind of resource is promoted."""

    drift: Callable[[str, Sequence[Action], LiveState], Iterator[Finding]]  # changes since the plan was made
    execute: Callable[[Conn, Batch], Awaitable[None]]  # all or none; raises one of the refusals
    fault: Callable[[str, Task, Exception], StepError | None]  # what a refusal means for one task of the batch
    refusals: tuple[type[Exception], ...]
