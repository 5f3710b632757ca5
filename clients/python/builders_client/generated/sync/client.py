# Written by script/clients.
"""The client: the areas of the service, and the helpers for events and names."""

from functools import cached_property
from typing import TYPE_CHECKING

from builders_client.generated.sync.resources import Resources

if TYPE_CHECKING:  # imported when they are used
    from builders_client.generated.sync.events import Events
    from builders_client.generated.sync.names import Names


class Builders(Resources):
    """A client of the service, with an attribute for each area and a method for each operation.

    `api_key` is a key of the account, or a function that chooses one for an operation. It defaults to
    BUILDERS_API_KEY, and `base_url` to BUILDERS_API_URL. With a test key as `api_key`, `live_key` is used for
    promotions only, which require one. `portfolio` is the id of another account whose portfolio the client works
    on. `http` returns what sends the requests, such as `httpx2.HTTPTransport`. Keep one client: it keeps its
    connections, others for each process and event loop that uses it.
    """

    @cached_property
    def events(self) -> "Events":
        """The event feed."""
        from builders_client.generated.sync.events import Events  # noqa: PLC0415 - imported when it is used

        return Events(self)

    @cached_property
    def names(self) -> "Names":
        """Claims of names."""
        from builders_client.generated.sync.names import Names  # noqa: PLC0415 - imported when it is used

        return Names(self)
