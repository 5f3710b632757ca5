"""What tracking refuses."""

from builders.kit.errors import Problem


class LinkAltered(Problem):
    """The link is not as it was written."""

    status, code = 400, "link_altered"
