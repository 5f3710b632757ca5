"""The names of environment variables `BUILDERS_*`, so that a misspelled setting is refused and not ignored."""

import re
from collections.abc import Collection, Mapping

from builders.kit.values.suggestions import find_similar

PREFIX = "BUILDERS_"
# Variables of other programs, which a shell may export: the scripts of a checkout, and the clients.
OTHERS = frozenset(
    f"{PREFIX}{name}"
    for name in (
        *("VENV", "PYTHON", "SKIP_LINT", "URL", "KEY", "API_URL", "API_KEY", "PARTS_FILE"),
        *("PGBOUNCER", "MAIL_ROOT", "BALANCERS", "NODE", "MAIL_LOAD", "MAIL_CHAIN", "IDNA_SOURCE", "CONFORMANCE"),
        *("WRITE_SNAPSHOTS", "TYPESCRIPT_PROJECT", "SCREENSHOTS", "PATRONI", "ETCD", "EVERY_CRASH", "RESULTS"),
        *("COMPLETE", "UNPROVEN_SENDER"),
    )
)
OTHER_PREFIXES = tuple(f"{PREFIX}{name}" for name in ("TEST_", "FUZZ_", "DEPLOYED_"))
# Kubernetes sets these for each service of the namespace whose name begins with `builders-`.
_OF_KUBERNETES = re.compile(r".*_(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT_\d+_(TCP|UDP|SCTP)(_.*)?)")
_ADDRESS_OF_KUBERNETES = re.compile(r"(tcp|udp|sctp)://")


def list_unknown(environment: Mapping[str, str], *, settings: Collection[str]) -> list[str]:
    """Return a sentence about each variable that has a value and is no setting."""
    known = {*settings, *OTHERS}
    unknown = sorted(
        name
        for name, value in environment.items()
        if value
        and name.upper().startswith(PREFIX)
        and name.upper() not in known
        and not name.upper().startswith(OTHER_PREFIXES)
        and not _OF_KUBERNETES.fullmatch(name)
        and not _ADDRESS_OF_KUBERNETES.match(value)
    )
    return [_describe(name, settings) for name in unknown]


def _describe(name: str, settings: Collection[str]) -> str:
    similar = find_similar(name.upper(), sorted(settings), cutoff=0.8)
    action = f"Did you mean {similar}?" if similar else "Unset it; docs/reference/settings.md lists the settings."
    return f"{name}: no setting has this name. {action}"
