-- The ledger of a portfolio: what each domain cost and earned.

-- No partitions: entries are never deleted, and they are read by domain, not by time.
CREATE TABLE portfolio_ledger_entries (
    account_id uuid NOT NULL, -- the portfolio
    id uuid NOT NULL,
    domain_id uuid NOT NULL,
    kind text NOT NULL, -- decides the sign of the amount
    amount numeric(19, 4) NOT NULL CHECK (amount >= 0),
    currency text NOT NULL,
    occurred_on date NOT NULL,
    years smallint CHECK (years > 0), -- that the amount pays for
    registrar text,
    memo text,
    source text NOT NULL, -- what recorded it
    reference text, -- of the source; unique among its entries that are not void
    created_by uuid, -- the member; null: a job
    created_at timestamptz NOT NULL,
    base_currency text NOT NULL, -- of the portfolio; another one until a new one is converted to
    fx_rate numeric, -- units of the base currency per unit of the currency; null: not converted
    fx_date date, -- the day of the rate
    base_amount numeric, -- amount * fx_rate, rounded to the decimals of the base currency
    awaits_rates boolean NOT NULL, -- the rates of its day were not loaded when it was converted
    voided_at timestamptz,
    voided_by uuid,
    void_reason text,
    PRIMARY KEY (account_id, id),
    CHECK ((base_amount IS NULL) = (fx_rate IS NULL) AND (fx_rate IS NULL) = (fx_date IS NULL)),
    CHECK ((voided_at IS NULL) = (void_reason IS NULL))
);
CREATE INDEX portfolio_ledger_entries_of_domain ON portfolio_ledger_entries (account_id, domain_id);
CREATE UNIQUE INDEX portfolio_ledger_entries_reference ON portfolio_ledger_entries (account_id, source, reference)
    WHERE reference IS NOT NULL AND voided_at IS NULL;
CREATE INDEX portfolio_ledger_entries_awaiting ON portfolio_ledger_entries (account_id) WHERE awaits_rates;

CREATE TABLE portfolio_ledger_settings (
    account_id uuid PRIMARY KEY,
    base_currency text NOT NULL
);

-- A reference table: the euro reference rates of the European Central Bank, and 1 for the euro itself.
CREATE TABLE portfolio_ledger_rates (
    currency text NOT NULL,
    quoted_on date NOT NULL,
    rate numeric NOT NULL CHECK (rate > 0), -- units of the currency per euro
    PRIMARY KEY (currency, quoted_on)
);

-- Half-even, as all amounts of money are rounded; round() rounds a half away from zero.
CREATE FUNCTION portfolio_ledger_round(amount numeric, decimals int) RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN abs(amount) * power(10::numeric, decimals) % 1 = 0.5 THEN 2 * round(amount * 0.5, decimals)
            ELSE round(amount, decimals) END;
