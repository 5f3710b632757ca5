"""The public interface of the invoices."""

from builders.invoices.charges import (
    PaidPeriod as PaidPeriod,
    find_paid_period as find_paid_period,
    list_charges as list_charges,
    list_open as list_open,
    withdraw_charges as withdraw_charges,
)
from builders.invoices.checkout import can_pay as can_pay, create_checkout as create_checkout
from builders.invoices.documents.document import render_html as render_html
from builders.invoices.documents.pdf import render_pdf as render_pdf
from builders.invoices.invoices import (
    advance as advance,
    clear as clear,
    find_arrears as find_arrears,
    get_history as get_history,
    get_ids_by_number as get_ids_by_number,
    get_invoice as get_invoice,
    list_all_invoices as list_all_invoices,
    list_invoices as list_invoices,
    mark_uncollectible as mark_uncollectible,
)
from builders.invoices.issuance import (
    create_draft as create_draft,
    delete_draft as delete_draft,
    get_billing_details as get_billing_details,
    issue as issue,
    issue_draft as issue_draft,
    put_billing_details as put_billing_details,
)
from builders.invoices.payments import (
    get_credit as get_credit,
    grant_credit as grant_credit,
    list_discrepancies as list_discrepancies,
    pay as pay,
    void as void,
)
from builders.invoices.stripe_events import receive_stripe_event as receive_stripe_event
