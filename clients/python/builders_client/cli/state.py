"""The options of a command, and its requests."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from builders_client.cli import profiles
from builders_client.cli.faults import USAGE, Fault
from builders_client.cli.texts import note
from builders_client.operation import Operation
from builders_client.problems import ConnectionFailed, NoCredentials, ReplyInvalid

if TYPE_CHECKING:  # slow to import
    import typer

    from builders_client import Builders
    from builders_client.retries import Waiting
    from builders_client.transport import MakeHttp
    from builders_client.values import File


@dataclass
class State:
    """The global options. `http` replaces the network, and `sleep` the waiting."""

    profile: str = profiles.DEFAULT
    api_url: str | None = None
    portfolio: str | None = None
    fields: tuple[str, ...] | None = None
    """Members to print as JSON; empty for all, None for text."""
    jsonl: bool = False
    test: bool = False
    no_input: bool = False
    pager: bool = True
    http: "MakeHttp | None" = None
    sleep: Callable[[float], None] = time.sleep
    _client: "Builders | None" = field(default=None, repr=False)
    _answered: bool = False

    @property
    def is_json(self) -> bool:
        """Return whether a program reads the output."""
        return self.jsonl or self.fields is not None

    @property
    def may_ask(self) -> bool:
        """Return whether a person can answer."""
        return not self.no_input and sys.stdin.isatty() and sys.stderr.isatty()

    def stored(self) -> Mapping[str, Any] | None:
        """Return the profile."""
        return profiles.load().get(self.profile)

    def address(self) -> str:
        """Return the address of the service. Raise Fault."""
        found = self.api_url or os.environ.get("BUILDERS_API_URL") or (self.stored() or {}).get("url")
        if not found or not found.startswith(("http://", "https://")):
            raise Fault(
                f"The address of the service is {found!r}." if found else "The address of the service is unknown.",
                next_action="Give --api-url https://…, set BUILDERS_API_URL, or sign in: bld login --api-url https://…",
                code=USAGE,
            )
        return str(found)

    def client(self) -> "Builders":
        """Return the client of this command."""
        if self._client is None:
            from builders_client import Builders, Retries

            self._client = Builders(
                profiles.environment_key() or self._key(),
                base_url=self.address(),
                portfolio=self.portfolio,
                retries=Retries(on_wait=self._wait),
                http=self.http,
            )
        return self._client

    def _key(self) -> Any:
        """Return the function that chooses a key of the profile."""
        stored = self.stored()
        mine = stored is not None and profiles.same_service(stored["url"], self.address())
        keys = profiles.usable(stored["keys"], test=self.test) if stored is not None and mine else ()

        def choose(operation: Operation) -> str | None:
            key = profiles.choose(keys, operation)
            if key is None and not operation.public:
                raise NoCredentials(f"The profile {self.profile} has no valid key for {self.address()}.")
            return key

        return choose

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def tell(self, waiting: "Waiting") -> None:
        """Tell a person why the command takes longer."""
        if not self.is_json:
            note(f"No answer yet: {waiting.reason}; again in {waiting.seconds:.1f} s")

    def _wait(self, waiting: "Waiting") -> None:
        """Tell a person why the command takes longer. Raise ConnectionFailed where nobody has ever answered."""
        if not waiting.connected and not self._answered:
            raise ConnectionFailed(waiting.reason)
        self.tell(waiting)

    def send(self, operation: str, *, client: "Builders | None" = None, **parts: Any) -> "File":
        """Send the request of an operation; return the reply as it is. Raise Fault for what cannot be sent."""
        from builders_client.values import File

        try:
            reply = (client or self.client()).send(operation, File, **parts)
        except ValueError as error:  # such as a value that the path or JSON cannot hold
            raise Fault(str(error), next_action="Correct the value.", code=USAGE) from error
        self._answered = True
        return reply

    def call(self, operation: str, **parts: Any) -> Any:
        """Send the request of an operation; return the JSON of the reply, None without one. Raise ReplyInvalid."""
        reply = self.send(operation, **parts)
        return read_json(reply) if reply.content else None

    def items(self, operation: str, *, limit: int | None = None, **parts: Any) -> Iterator[Any]:
        """Return the items of a list over all its pages, `limit` at most."""
        query = dict(parts.pop("query", None) or {})
        count = 0
        while True:
            page = self.call(operation, query=query, **parts)
            for item in page["items"]:
                if count == limit:
                    return
                count += 1
                yield item
            if page.get("next_cursor") is None:
                return
            query["cursor"] = page["next_cursor"]


def read_json(reply: "File") -> Any:
    """Return the JSON of a reply. Raise ReplyInvalid."""
    try:
        return json.loads(reply.content)
    except (ValueError, RecursionError) as error:
        raise ReplyInvalid("The answer is not JSON: the address is not that of the service.") from error


def state_of(ctx: "typer.Context") -> State:
    """Return the options of the command."""
    found = ctx.find_root().obj
    if not isinstance(found, State):
        raise TypeError("the command was started without its options")
    return found


def given(**members: Any) -> dict[str, Any]:
    """Return the members that are not None."""
    return {name: value for name, value in members.items() if value is not None}
