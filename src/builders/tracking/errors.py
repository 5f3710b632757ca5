"""Errors of tracking."""

from builders.kit.errors import Problem


class LinkAltered(Problem):
    """The link or its signature was altered."""

    status, code = 400, "link_altered"
