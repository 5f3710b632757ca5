"""Replies of the probes."""

from typing import Annotated, Literal

from builders.kit.http.bodies import Reply
from builders.kit.values.docs import doc


class LivenessReply(Reply):
    """The process answers."""

    status: Annotated[Literal["ok"], doc("Always `ok`: the process answers. Dependencies are not checked.")]
