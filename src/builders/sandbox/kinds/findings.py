"""What planning says of resources that are not as the manifest assumes, in the same words for all kinds."""

from builders.sandbox.records import Finding, Kind


def exists(kind: Kind, key: str, what: str, manifest: str | None) -> Finding:
    """The account has the resource already, and not by this manifest."""
    holder = f"the manifest {manifest!r}" if manifest else "no manifest"
    return Finding(
        code=f"{kind}_exists",
        address=f"{kind}.{key}",
        message=f"The account has {what} already, managed by {holder}. To take it over: on_conflict adopt.",
    )


def left_alone(kind: Kind, key: str | None, what: str) -> Finding:
    """A resource that the manifest has no more stays."""
    return Finding(
        code="left_alone",
        address=f"{kind}.{key}",
        message=f"{what} is no longer in the manifest; without prune it stays.",
    )


def key_in_use(kind: Kind, key: str, old: str, new: str) -> Finding:
    """A key stood for something else, which it cannot be turned into."""
    message = f"The key stood for {old}, and {new} is another: take a new key."
    return Finding(code="key_in_use", address=f"{kind}.{key}", message=message)


def as_wanted(changed: tuple[str, ...]) -> str:
    """Why a resource that this manifest manages is changed, or not."""
    return f"Changes {', '.join(changed)}." if changed else "It is as wanted."


HOME_PRUNED = "The manifest has this project no more, and prunes: the plan would archive it."
PRUNED = "It is no longer in the manifest, which prunes."
ADOPTED = "This manifest takes it over."
