# Written by script/clients.
"""Lists: all items over all pages, in the order of the service."""

from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar, cast

from builders_client.generated.sync.sender import Sender

P = TypeVar("P")
T = TypeVar("T")


class Pages(Generic[P, T]):
    """The items of a list. Each iteration reads the pages again, the next one when its first item is needed."""

    def __init__(
        self,
        client: Sender,
        operation: str,
        reply: type[P],
        items: str,
        *,
        query: Mapping[str, Any],
        path: Mapping[str, str | int] | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> None:
        self._client = client
        self._operation = operation
        self._reply = reply
        self._items = items
        self._query = query
        self._path = path
        self._headers = headers

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            for item in cast("list[T]", getattr(page, self._items)):
                yield item

    def pages(self) -> Iterator[P]:
        """Return the pages, with their totals and warnings."""
        page = self.first()
        yield page
        while (cursor := getattr(page, "next_cursor", None)) is not None:
            page = self._read({**self._query, "cursor": cursor})
            yield page

    def first(self) -> P:
        """Return the first page."""
        return self._read(self._query)

    def _read(self, query: Mapping[str, Any]) -> P:
        return self._client.send(self._operation, self._reply, path=self._path, query=query, headers=self._headers)
