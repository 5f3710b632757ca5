"""The public interface of files that list domains."""

from builders.portfolio.domain_files.errors import (
    FileRefused as FileRefused,
)
from builders.portfolio.domain_files.formats import (
    FORMATS as FORMATS,
    list_ids as list_ids,
)
from builders.portfolio.domain_files.parts import (
    cut as cut,
    read_part as read_part,
)
from builders.portfolio.domain_files.reading import (
    Reading as Reading,
    open_source as open_source,
    opening as opening,
)
