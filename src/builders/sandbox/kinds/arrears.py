"""What an account cannot have while an invoice of it is long overdue: names that cost something. Pure.

Else a name that is suspended could be given up and claimed anew, for one more invoice that nobody pays.
"""

from collections.abc import Iterator, Sequence

from builders.sandbox.error_codes import StepError
from builders.sandbox.kinds.alias_limits import CLAIMS
from builders.sandbox.kinds.work import Task
from builders.sandbox.records import Action, Finding

CODE = "payment_overdue"


def costs(action: Action) -> bool:
    """Whether the action claims a name that is to be paid for, or that was paid for."""
    is_priced = action.price is not None and bool(action.price.money.amount)
    return action.action in CLAIMS and (is_priced or action.continues is not None)


def refusals(actions: Sequence[Action], overdue: str | None) -> Iterator[Finding]:
    """Which actions have to wait until the invoice with this number is paid; all can be done when it is None."""
    for action in actions:
        if overdue and costs(action):
            yield Finding(code=CODE, address=action.address, message=_say(overdue))


def faults(tasks: Sequence[Task], overdue: str | None) -> dict[int, StepError]:
    """The same of tasks that are being done, by position."""
    if overdue is None:
        return {}
    refused = StepError(code=CODE, message=_say(overdue))
    return {task.position: refused for task in tasks if costs(task.action)}


def _say(overdue: str) -> str:
    return f"The invoice {overdue} is long overdue: pay it first. Names that cost nothing can be had."
