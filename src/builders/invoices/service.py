"""The door of the invoices."""

from builders.invoices import (
    buyers,
    charges,
    checkout,
    clearing,
    issuing,
    pages,
    paying,
    reading,
    receiving,
    timeline,
    withdrawing,
)

issue = issuing.issue
draft, open_draft, delete_draft = issuing.draft, issuing.open_draft, issuing.delete_draft
pay, void, give_up, grant_credit = paying.pay, paying.void, paying.give_up, paying.grant
get, get_number = issuing.get, paying.get_number
get_billing_details, put_billing_details = buyers.get_billing_details, buyers.put_billing_details
get_invoice, list_invoices, list_of_all = reading.get_invoice, reading.list_invoices, reading.list_of_all
get_history, get_credit = reading.get_history, reading.get_credit
list_discrepancies = reading.list_discrepancies
withdraw = withdrawing.withdraw
PaidPeriod = charges.PaidPeriod
list_charges, paid_period = charges.list_charges, charges.paid_period
list_open = charges.list_open
clear = clearing.clear
create_checkout, can_pay = checkout.create_checkout, checkout.can_pay
receive_stripe = receiving.receive
advance, find_arrears = timeline.advance, timeline.find_arrears
write_html, render_pdf = pages.write_html, pages.render_pdf
