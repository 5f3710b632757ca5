"""Wire format of tracking."""

from typing import Annotated

from builders.kit.http.bodies import Reply
from builders.kit.values.docs import doc


class LinkReply(Reply):
    """The target of a tracked link, for clients other than browsers."""

    target: Annotated[str, doc("Target of the link.")]
