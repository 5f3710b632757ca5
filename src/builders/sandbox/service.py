"""Public interface of the sandbox."""

from builders.projects.service import ProjectArchived as ProjectArchived
from builders.sandbox.planning import (
    get_plan as get_plan,
    list_plans as list_plans,
    make_plan as make_plan,
    prune_plans as prune_plans,
)
from builders.sandbox.promotion.complete import abandon as abandon
from builders.sandbox.promotion.run import (
    get_promotion as get_promotion,
    promote as promote,
    run_promotion as run_promotion,
)
from builders.sandbox.promotion.start import FINISH as FINISH, resume_abandoned as resume_abandoned
from builders.sandbox.rehearsal import RehearsalRequest as RehearsalRequest, rehearse as rehearse
from builders.sandbox.resources.kinds import RunParameters as RunParameters
from builders.sandbox.simulation import (
    account_lock as account_lock,
    check_names as check_names,
    get_overview as get_overview,
    reset_account as reset_account,
    simulate_event as simulate_event,
)
