-- Why a charge is not booked although its domain is known, such as entry_limit.
ALTER TABLE portfolio_billing_charges ADD COLUMN reason text;
