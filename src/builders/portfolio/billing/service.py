"""The public interface of billing."""

from builders.portfolio.billing.charges import (
    apply_charges as apply_charges,
    change_charge as change_charge,
    list_charges as list_charges,
    undo_application as undo_application,
)
from builders.portfolio.billing.errors import (
    ChargeNotFound as ChargeNotFound,
)
from builders.portfolio.billing.importing import (
    import_charges as import_charges,
)
from builders.portfolio.billing.templates import (
    list_templates as list_templates,
)
