"""The public interface of billing."""

from builders.portfolio.billing.charges import (
    apply_charges as apply_charges,
    change_charge as change_charge,
    list_charges as list_charges,
    undo_application as undo_application,
)
from builders.portfolio.billing.ensuring import (
    ensure_fresh as ensure_fresh,
    wait_for_refresh as wait_for_refresh,
)
from builders.portfolio.billing.errors import (
    ChargeNotFound as ChargeNotFound,
)
from builders.portfolio.billing.facts import list_booked_entries as list_booked_entries
from builders.portfolio.billing.importing import (
    import_charges as import_charges,
    read_charges as read_charges,
)
from builders.portfolio.billing.syncing import (
    abandon_sync as abandon_sync,
    follow_sync as follow_sync,
    sync_charges as sync_charges,
    sync_providers as sync_providers,
    wait_for_sync as wait_for_sync,
)
from builders.portfolio.billing.templates import (
    list_templates as list_templates,
)
