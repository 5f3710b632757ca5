"""The spaces of the console: an account, and its sandbox below `/console/test`.

A space is a part of the path, so that two tabs can show two spaces and an address can be bookmarked.
"""

from dataclasses import dataclass

ROOT = "/console"
_TEST = "test"


@dataclass(frozen=True, slots=True)
class Space:
    """Where the pages of a request act."""

    is_test: bool  # in the sandbox account, with the rights of a test key

    @property
    def prefix(self) -> str:
        """Return the path of the first page."""
        return f"{ROOT}/{_TEST}" if self.is_test else ROOT

    def link(self, page: str = "") -> str:
        """Return the path of a page of this space; `page` is its path below the first page."""
        return f"{self.prefix}/{page}" if page else self.prefix

    def other(self, page: str) -> str:
        """Return the path of the same page in the other space."""
        return Space(not self.is_test).link(page)


def split(path: str) -> tuple[Space, str]:
    """Return the space of a path of the console, and the path of the page within it."""
    first, _, rest = path.removeprefix(ROOT).removeprefix("/").partition("/")
    if first == _TEST:
        return Space(is_test=True), rest
    return Space(is_test=False), path.removeprefix(ROOT).removeprefix("/")
