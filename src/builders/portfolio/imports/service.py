"""The public interface of imports."""

from builders.portfolio.imports.exporting import (
    write_csv as write_csv,
    write_json as write_json,
)
from builders.portfolio.imports.listing import (
    list_first_results as list_first_results,
    list_imports as list_imports,
    list_results as list_results,
    result_of as result_of,
)
from builders.portfolio.imports.running import (
    RUN_IMPORT as RUN_IMPORT,
    abandon_import as abandon_import,
    defer as defer,
    get_import as get_import,
    import_source as import_source,
    prune_imports as prune_imports,
    read_small as read_small,
)
from builders.portfolio.imports.stepping import (
    find_next as find_next,
    resume_imports as resume_imports,
    run_import as run_import,
)
from builders.portfolio.imports.undoing import (
    run_undo as run_undo,
    undo_import as undo_import,
)
