"""Planning aliases. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from builders.aliases.records import Alias
from builders.sandbox.kinds import (
    alias_actions as actions,
    alias_checks as checks,
    alias_limits as limits,
    arrears,
    releases,
)
from builders.sandbox.kinds.alias_checks import Judged
from builders.sandbox.kinds.drafted import Drafted
from builders.sandbox.kinds.live import Live
from builders.sandbox.records import Action
from builders.sandbox.wishes import Manifest


def draft(manifest: Manifest, judged: Sequence[Judged], live: Live) -> Drafted:
    """The actions on aliases that lead from the live state to the wanted one, with all errors at once."""
    wishes = _recognised(judged, live.aliases)
    keys, wanted = {each.wish.key for each in wishes}, {each.name for each in wishes}
    dropped = [each for each in live.aliases if each.manifest == manifest.name and each.name not in wanted]
    # What a key stood for is replaced by what it stands for now; what has lost its key is left over.
    replaced = {alias.manifest_key: alias for alias in dropped if alias.manifest_key in keys}
    left = [alias for alias in dropped if alias.manifest_key not in keys]
    pruned = [alias for alias in left if not alias.is_blocked] if manifest.prune else []
    going = {alias.name for alias in (*replaced.values(), *pruned) if not alias.is_blocked}

    routes = {name: on for name, on in live.routes.items() if name not in going}
    errors = list(checks.errors(wishes, routes, live.standings))
    wrong = {error.address for error in errors}
    planned: list[Action] = []
    for each in wishes:
        old = replaced.get(each.wish.key)
        if each.mine is not None:
            outcome = actions.keep(manifest, each, each.mine, old)
        elif each.address in wrong:
            continue
        else:
            outcome = actions.claim(each, old, live)
        if isinstance(outcome, Action):
            planned.append(outcome)
        else:
            errors.append(outcome)
    homes = {each.address: each.home for each in wishes if each.home}
    errors += limits.refusals(planned, homes, live.sizes)
    errors += arrears.refusals(planned, live.overdue)
    removed = [actions.delete(each, live) for each in pruned]
    return Drafted(
        actions=tuple(planned),
        removed=tuple(removed),
        errors=tuple(errors),
        warnings=(
            *actions.cautions(manifest, wishes),
            *releases.warnings([*planned, *removed], live.releases),
            *(actions.left_alone(each) for each in left if each not in pruned),
        ),
    )


def _recognised(judged: Sequence[Judged], aliases: Sequence[Alias]) -> list[Judged]:
    """The wishes, each with the alias that the account has of its name.

    Also by the address as it is written: a name stays the account's own when the rules of its domain change.
    """
    by_name = {alias.name: alias for alias in aliases}
    by_address = {alias.address: alias for alias in aliases}
    return [
        replace(each, mine=(each.own and by_name.get(each.own)) or by_address.get(each.written)) for each in judged
    ]
