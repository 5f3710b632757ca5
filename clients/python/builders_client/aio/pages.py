"""Lists: all items over all pages, in the order of the service."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Generic, TypeVar, cast

from builders_client.aio.sender import AsyncSender

P = TypeVar("P")
T = TypeVar("T")


class AsyncPages(Generic[P, T]):
    """The items of a list. Each iteration reads the pages again, the next one when its first item is needed."""

    def __init__(
        self,
        client: AsyncSender,
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

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for item in cast("list[T]", getattr(page, self._items)):
                yield item

    async def pages(self) -> AsyncIterator[P]:
        """Return the pages, with their totals and warnings."""
        page = await self.first()
        yield page
        while (cursor := getattr(page, "next_cursor", None)) is not None:
            page = await self._read({**self._query, "cursor": cursor})
            yield page

    async def first(self) -> P:
        """Return the first page."""
        return await self._read(self._query)

    async def _read(self, query: Mapping[str, Any]) -> P:
        return await self._client.send(
            self._operation, self._reply, path=self._path, query=query, headers=self._headers
        )
