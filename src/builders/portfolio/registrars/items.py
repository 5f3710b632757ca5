"""Items of registrars' lists, read one by one: a bad one makes its list incomplete, and never stops the others."""

from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import AliasChoices, BaseModel

from builders.kit.http import slices
from builders.kit.values import texts
from builders.portfolio.registrars.api_client import Model, read
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.rows import a_label
from builders.portfolio.runs.records import MAX_UNREAD, Unread

T = TypeVar("T")
MAX_BAD = 1_000  # items of one page; with more of them the whole page is malformed
MAX_IN_ROW = 3  # items that fail for a reason that is not theirs, one after another; then the list ends
_NAMED = 3  # items that a hint names
_MAX_NAME = 80  # characters of the name of an item


class Items:
    """The reader of the items of one list, which keeps those that it could not read."""

    def __init__(self, *, name: str = "domain") -> None:
        self._name = name  # the field of a row that names it
        self.unread = list[Unread]()  # the first ones
        self._bad = self._listed = self._answered = self._in_row = 0
        self._last: RegistrarFailed | None = None

    async def rows(self, form: type[Model], values: Sequence[Any]) -> Sequence[Model]:
        """Return the items of a page that are rows of a form, and keep the names of the others."""
        return await slices.collect(self._rows(form, values))

    def _rows(self, form: type[Model], values: Sequence[Any]) -> Iterator[Model]:
        before = self._bad
        for value in values:
            self._listed += 1
            try:
                yield read(form, value)
            except RegistrarFailed as failed:
                self.add(name_of(form, value, field=self._name) or f"item {self._listed}", failed)
            if self._bad - before > MAX_BAD:
                raise RegistrarFailed(RegistrarFailure.MALFORMED)

    async def ask(self, name: str, answer: Awaitable[T]) -> T | None:
        """Return the registrar's answer about one item; None for one that it does not give.

        Raise RegistrarFailed for a rate limit, and when several items in a row fail for another reason than their
        own: such a failure is about the account or the registrar.
        """
        try:
            found = await answer
        except RegistrarFailed as failed:
            self._in_row = 0 if failed.is_of_item else self._in_row + 1
            if failed.kind is RegistrarFailure.RATE_LIMITED or self._in_row >= MAX_IN_ROW:
                raise
            self.add(name, failed)
            self._last = failed
            return None
        self._in_row, self._answered = 0, self._answered + 1
        return found

    def add(self, name: str, failed: RegistrarFailed) -> None:
        """Keep an item that could not be read."""
        self._bad += 1
        if len(self.unread) < MAX_UNREAD:
            reason = " ".join(filter(None, (str(failed), failed.hint)))
            self.unread.append(Unread(item=texts.printable(name)[:_MAX_NAME], reason=reason))

    def close(self, reason: str = "") -> None:
        """End the list. Raise RegistrarFailed with INCOMPLETE for a reason, or when items could not be read.

        When the registrar answered about no item, for a reason that is not theirs, raise that.
        """
        if self._last is not None and not self._answered and not self._last.is_of_item:
            raise self._last
        if self._bad:
            reason = f"{reason} {self._bad} of its items could not be read: {named(self.unread)}.".lstrip()
        if reason:
            raise incomplete(reason, unread=self.unread)


def incomplete(reason: str, *, unread: Sequence[Unread] = ()) -> RegistrarFailed:
    """Return the failure of a list that is not known to be complete."""
    hint = f"{reason} What was listed is kept, no domain is marked missing, and the next sync lists all again."
    return RegistrarFailed(RegistrarFailure.INCOMPLETE, hint=hint, unread=unread)


def named(unread: Sequence[Unread]) -> str:
    """Return the names of the first items."""
    names = ", ".join(each.item for each in unread[:_NAMED])
    return names if len(unread) <= _NAMED else f"{names} and others"


def name_of(form: type[BaseModel], value: object, *, field: str) -> str | None:
    """Return the name in an item that is no row of a form; None when it has none."""
    info = form.model_fields[field]
    alias = info.validation_alias or field
    keys = alias.choices if isinstance(alias, AliasChoices) else [alias]
    found = [value.get(key) for key in keys if isinstance(key, str)] if isinstance(value, Mapping) else []
    text = next((str(each) for each in found if isinstance(each, str | int) and str(each).strip()), None)
    return None if text is None else a_label(text[:_MAX_NAME])


def read_about(domain: str, form: type[Model], values: Iterable[Any]) -> Sequence[Model]:
    """Return the rows of a domain in a list of all. Raise RegistrarFailed when one of them cannot be read."""
    return [read(form, value) for value in values if name_of(form, value, field="domain") == domain]


def read_those(form: type[Model], values: Iterable[Any]) -> Sequence[Model]:
    """Return the values that are rows of a form, such as prices, of which one may lack."""
    found = list[Model]()
    for value in values:
        try:
            found.append(read(form, value))
        except RegistrarFailed:
            continue
    return found
