"""The client: the areas of the service, and the helpers for events and names."""

from functools import cached_property
from typing import TYPE_CHECKING

from builders_client.generated.aio.resources import AsyncResources

if TYPE_CHECKING:  # imported when they are used
    from builders_client.aio.events import AsyncEvents
    from builders_client.aio.names import AsyncNames


class AsyncBuilders(AsyncResources):
    """A client of the service, with an attribute for each area and a method for each operation.

    `api_key` is a key of the account, or a function that chooses one for an operation. It defaults to
    BUILDERS_API_KEY, and `base_url` to BUILDERS_API_URL. With a test key as `api_key`, `live_key` is used for
    promotions only, which require one. `portfolio` is the id of another account whose portfolio the client works
    on. `http` returns what sends the requests, such as `httpx2.AsyncHTTPTransport`. Keep one client: it keeps its
    connections, others for each process and event loop that uses it.
    """

    @cached_property
    def events(self) -> "AsyncEvents":
        """The event feed."""
        from builders_client.aio.events import AsyncEvents  # noqa: PLC0415 - imported when it is used

        return AsyncEvents(self)

    @cached_property
    def names(self) -> "AsyncNames":
        """Claims of names."""
        from builders_client.aio.names import AsyncNames  # noqa: PLC0415 - imported when it is used

        return AsyncNames(self)
