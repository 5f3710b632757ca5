"""How each kind is promoted."""

from collections.abc import Mapping

from builders.sandbox.kinds import alias_steps, domain_steps, project_steps, webhook_steps
from builders.sandbox.kinds.work import Doer
from builders.sandbox.records import Kind

DOERS: Mapping[Kind, Doer] = {
    Kind.PROJECT: project_steps.DOER,
    Kind.DOMAIN: domain_steps.DOER,
    Kind.WEBHOOK: webhook_steps.DOER,
    Kind.ALIAS: alias_steps.DOER,
}
REFUSALS = tuple({each for doer in DOERS.values() for each in doer.refusals})
