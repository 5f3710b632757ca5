"""The request body of saved views."""

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from builders.kit.http.bodies import Body, PatchBody
from builders.kit.values import texts
from builders.kit.values.docs import doc
from builders.kit.values.patches import UNSET
from builders.portfolio.saved_views.records import (
    COLUMNS,
    MAX_NAME,
    MAX_QUERY,
    MAX_VIEWS,
    VIEWS,
    DomainColumn,
    SavedView,
)


class SavedViewCreate(Body):
    """A list of domains to open again: its filters and its order."""

    name: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_NAME),
        texts.Plain,
        doc("Name of the view, of your choice."),
    ]
    query: Annotated[
        str,
        StringConstraints(max_length=MAX_QUERY, pattern=r"^[!-~]*$"),
        doc("Query of the list, such as `status=owned&sort=-roi`; empty for all domains."),
    ] = ""


def _named_once(views: list[SavedViewCreate] | None) -> list[SavedViewCreate] | None:
    """Return the views. Raise ValueError for two of one name."""
    if views is not None and len({each.name for each in views}) < len(views):
        raise ValueError("Each view needs a name of its own.")
    return views


class SavedViewsUpdate(PatchBody):
    """What to save of your views; absent members do not change, and a list replaces the whole one."""

    columns: Annotated[list[DomainColumn] | None, Field(max_length=len(DomainColumn)), COLUMNS] = None
    views: Annotated[
        list[SavedViewCreate] | None,
        Field(max_length=MAX_VIEWS),
        VIEWS,
        AfterValidator(_named_once),
    ] = None

    def saved_columns(self) -> list[DomainColumn] | None:
        """Return each column once; None if the body has none."""
        sent = self.patch_of("columns", self.columns)
        return None if sent is UNSET else list(dict.fromkeys(sent or ()))

    def saved_views(self) -> list[SavedView] | None:
        """Return the views; None if the body has none."""
        sent = self.patch_of("views", self.views)
        return None if sent is UNSET else [SavedView(name=each.name, query=each.query) for each in sent or ()]
