"""Refusals of files that list domains."""


class FileRefused(ValueError):
    """No row of the file can be read; `member` is the member of the body that is wrong."""

    def __init__(self, code: str, message: str, *, member: tuple[str, ...] = ("csv",)) -> None:
        super().__init__(message)
        self.code = code
        self.member = member
