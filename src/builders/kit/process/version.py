"""The version of this service, and the revision of the specification that it implements."""

VERSION = "1.1.0.dev0"
REVISION = "0.2.54"


def order_of(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, by which versions are sorted; 1.1.0.dev0 is 1.1.0."""
    return tuple(int(each) for each in version.split(".")[:3])
