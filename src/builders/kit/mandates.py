"""What a person lets a machine do: the mandate of an API key or a connection (decision 0059).

A mandate limits effects, and not only money. `ScopeRequirement.authorize` (kit/http/callers.py) checks it with the
scope; what depends on a target or on a sum is checked where the target is read: by the handler of an operation
that checks its target itself, and at the start of a promotion (plans/promotion/start.py).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, Field, StrictBool, StrictInt, TypeAdapter

from builders.kit.effects import Effect
from builders.kit.errors import Problem
from builders.kit.values.docs import doc
from builders.kit.values.money import Money, check_limits

MAX_PROJECTS, MAX_CURRENCIES, MAX_DELETES = 50, 20, 100_000
MAX_NAMED = 3  # targets in a refusal


class Toolset(StrEnum):
    """A group of operations that a mandate allows as a whole."""

    NAMES = "names"
    PLANS = "plans"
    MAIL = "mail"
    MONEY = "money"
    PORTFOLIO = "portfolio"
    API = "api"


# By the area of a scope. What no toolset has is refused.
TOOLSETS: Mapping[str, Toolset] = {
    "aliases": Toolset.NAMES,
    "domains": Toolset.NAMES,
    "sandbox": Toolset.PLANS,
    "projects": Toolset.PLANS,
    "mail": Toolset.MAIL,
    "invoices": Toolset.MONEY,
    "portfolio": Toolset.PORTFOLIO,
    "registrars": Toolset.PORTFOLIO,
    "transfers": Toolset.PORTFOLIO,
    "team": Toolset.PORTFOLIO,
    "account": Toolset.API,
    "keys": Toolset.API,
    "notifications": Toolset.API,
}


def toolset_of(scope: str) -> Toolset | None:
    """Return the toolset of a scope."""
    return TOOLSETS.get(scope.partition(":")[0])


class Limit(StrEnum):
    """What of a mandate does not allow something: the `reason` of a refusal."""

    AUTHORITY = "authority"  # no mandate allows it
    TOOLSET = "toolset"
    READ_ONLY = "read_only"
    PROJECTS = "projects"
    DELETES = "deletes"
    OUTWARD = "outward"
    MAX_TOTAL = "max_total"
    PORTFOLIO_ACCOUNT = "portfolio_account"
    MACHINES = "machines"  # the limit for all machines of the account
    OPERATOR = "operator"  # that of the operator


class MandateExceeded(Problem):
    """The mandate of the credentials does not allow this."""

    status, code = 403, "mandate_exceeded"
    is_of_kind = audits_caller = True
    remedy = "Ask a person to do it, or to give a wider mandate: a mandate is never widened, so that is a new key."


Amounts = Annotated[tuple[Money, ...], Field(max_length=MAX_CURRENCIES), AfterValidator(check_limits)]
Count = Annotated[StrictInt, Field(ge=0, le=MAX_DELETES)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mandate:
    """What a credential may do and spend, given by a person. Its end and its label are those of the key."""

    toolsets: Annotated[
        tuple[Toolset, ...], Field(min_length=1, max_length=len(Toolset)), doc("What it may use; see the scopes.")
    ]
    read_only: Annotated[StrictBool, doc("Whether it only reads, plans, simulates and previews.")] = True
    projects: Annotated[
        tuple[UUID, ...] | None,
        Field(min_length=1, max_length=MAX_PROJECTS),
        doc("The only projects that it changes, with their names; null: anything."),
    ] = None
    max_total_per_plan: Annotated[
        Amounts, doc("What a plan may cost, an amount of each currency; a currency without one is zero.")
    ] = ()
    max_total_per_30_days: Annotated[
        Amounts, doc("What all plans of 30 days may cost, with the renewals of their names.")
    ] = ()
    deletes_per_plan: Annotated[Count, doc("How much a plan or a request may delete or replace.")] = 0
    deletes_per_30_days: Annotated[Count, doc("How much it may delete or replace in 30 days.")] = 0
    outward: Annotated[
        StrictBool,
        doc("Whether it may send mail, events or auth codes to somebody who did not get them before."),
    ] = False
    portfolio_account: Annotated[
        UUID | None, doc("The account whose portfolio it uses, of which you are a member; null: your own.")
    ] = None

    def require(self, effect: Effect, *, toolset: Toolset | None, checks_target: bool) -> None:
        """Raise MandateExceeded unless the mandate allows an operation of this effect and toolset.

        An operation that `checks_target` finds out itself whether its target is of a project of the mandate, and
        whether it is new outside.
        """
        if effect is Effect.AUTHORITY:
            raise MandateExceeded("No mandate allows this: only a person decides it.", reason=Limit.AUTHORITY)
        self.require_toolset(toolset)
        if effect in _HARMLESS:
            return
        if self.read_only:
            raise MandateExceeded("The mandate only reads and proposes.", reason=Limit.READ_ONLY)
        if effect is Effect.DELETE and not self.deletes_per_plan:
            raise MandateExceeded("The mandate does not allow to delete anything.", reason=Limit.DELETES)
        if not checks_target:
            self.require_project(None)
            if effect is Effect.OUTWARD:
                self.require_known(["this"])

    def require_toolset(self, toolset: Toolset | None) -> None:
        """Raise MandateExceeded unless the mandate has the toolset; None is in no mandate."""
        if toolset not in self.toolsets:
            named = "no toolset" if toolset is None else f"the toolset {toolset}"
            raise MandateExceeded(
                f"This needs {named}, which the mandate lacks.", reason=Limit.TOOLSET, toolset=toolset
            )

    def require_project(self, *project_ids: UUID | None) -> None:
        """Raise MandateExceeded for something of another project, or of none, where the mandate names projects."""
        if self.projects is not None and not set(self.projects).issuperset(project_ids):
            raise MandateExceeded(
                "The mandate is for some projects, and this is of another or none.", reason=Limit.PROJECTS
            )

    def require_known(self, new: Collection[str]) -> None:
        """Raise MandateExceeded for what is new outside the account, unless the mandate allows that."""
        if new and not self.outward:
            raise MandateExceeded(
                f"New outside the account: {', '.join(sorted(new)[:MAX_NAMED])}. The mandate does not allow that.",
                reason=Limit.OUTWARD,
            )


_HARMLESS = frozenset((Effect.READ, Effect.PROPOSE))
MANDATE = TypeAdapter(Mandate)  # its stored form
READ_ONLY = Mandate(toolsets=tuple(Toolset))  # of a key without a mandate at /mcp


def limit_of(amounts: Sequence[Money], currency: str) -> Money:
    """Return the amount of a currency: zero for one that is not listed."""
    return next((each for each in amounts if each.currency == currency), Money.zero(currency))
