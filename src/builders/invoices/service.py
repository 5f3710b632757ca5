"""The door of the invoices."""

from builders.invoices.buyers import (
    get_billing_details as get_billing_details,
    put_billing_details as put_billing_details,
)
from builders.invoices.charges import (
    PaidPeriod as PaidPeriod,
    list_charges as list_charges,
    list_open as list_open,
    paid_period as paid_period,
)
from builders.invoices.checkout import (
    can_pay as can_pay,
    create_checkout as create_checkout,
)
from builders.invoices.clearing import (
    clear as clear,
)
from builders.invoices.issuing import (
    delete_draft as delete_draft,
    draft as draft,
    get as get,
    issue as issue,
    open_draft as open_draft,
)
from builders.invoices.pages import (
    render_pdf as render_pdf,
    write_html as write_html,
)
from builders.invoices.paying import (
    get_number as get_number,
    give_up as give_up,
    grant_credit as grant_credit,
    pay as pay,
    void as void,
)
from builders.invoices.reading import (
    get_credit as get_credit,
    get_history as get_history,
    get_invoice as get_invoice,
    list_discrepancies as list_discrepancies,
    list_invoices as list_invoices,
    list_of_all as list_of_all,
)
from builders.invoices.receiving import (
    receive_stripe as receive_stripe,
)
from builders.invoices.timeline import (
    advance as advance,
    find_arrears as find_arrears,
)
from builders.invoices.withdrawing import (
    withdraw as withdraw,
)
