"""The spaces of the console: an account, its sandbox, and the accounts of the teams to which a person belongs.

A space is a part of the path, so that two tabs can show two spaces and an address can be bookmarked.
"""

from dataclasses import dataclass

ROOT = "/console"
_TEST, _OF = "test", "of"


@dataclass(frozen=True, slots=True)
class Space:
    """Where the pages of a request act: by default in the account of the person."""

    is_test: bool = False  # in its sandbox account, with the rights of a test key
    owner: str | None = None  # id of the account of a team, with the rights of the person's membership

    @property
    def prefix(self) -> str:
        """Return the path of the first page."""
        if self.owner is not None:
            return f"{ROOT}/{_OF}/{self.owner}"
        return f"{ROOT}/{_TEST}" if self.is_test else ROOT

    def link(self, page: str = "") -> str:
        """Return the path of a page of this space; `page` is its path below the first page."""
        return f"{self.prefix}/{page}" if page else self.prefix

    def other(self, page: str) -> str:
        """Return the path of the same page in the sandbox, or outside it."""
        return Space(is_test=not self.is_test).link(page)


# The paths at which each page and each form is registered.
PREFIXES = (ROOT, f"{ROOT}/{_TEST}", f"{ROOT}/{_OF}/{{owner_id}}")


def split(path: str) -> tuple[Space, str]:
    """Return the space of a path of the console, and the path of the page within it."""
    parts = path.removeprefix(ROOT).strip("/").split("/")
    if parts[0] == _TEST:
        return Space(is_test=True), "/".join(parts[1:])
    if parts[0] == _OF and len(parts) > 1:
        return Space(owner=parts[1]), "/".join(parts[2:])
    return Space(), "/".join(parts)
