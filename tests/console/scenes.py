"""An account in which a form is shown, and how the form is tried."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

from tests.cast import Person
from tests.console.visitor import Visitor
from tests.plans.make import Json


@dataclass
class Scene:
    """Alice's account, and what a test has made in it."""

    alice: Person
    charlie: Person
    domain: str
    visit: Callable[[Person], Awaitable[Visitor]]
    stack: AsyncExitStack  # of servers that run until the end of the test
    made: Json = field(default_factory=dict)  # the resource of the page
    visitor: Person | None = None  # who opens the page; None: Alice

    async def change(self, method: str, path: str, **sent: Any) -> None:
        """Change something of Alice in another browser of hers."""
        async with self.alice.browser() as browser:
            answer = await browser.request(method, path, **sent)
        assert answer.is_success, answer.text


Step = Callable[[Scene], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A page with a form, what is typed, and the change that makes the form stale."""

    page: str  # with members of `Scene.made`
    prepare: Step | None = None
    typed: Mapping[str, Any] = field(default_factory=dict)
    meanwhile: Step | None = None  # None: the form makes something new, so nothing can be stale
    tells: str = ""  # text of the page that answers the stale form
    after: str = ""  # a form whose page has the form
    typed_before: Mapping[str, Any] = field(default_factory=dict)  # into that form
    besides: tuple[str, ...] = ()  # tables that it may write: the key that promotes is minted and revoked
