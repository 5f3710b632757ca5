-- Whose turn it is to promote, invoices of promotions, and lists of plans.

-- One promotion of an account at a time: who is to begin one holds this row, and looks whether the promotion that had
-- the turn before still runs. A row stays behind when its promotion ends, and says nothing then.
CREATE TABLE sandbox_turns (
    account_id uuid PRIMARY KEY,
    promotion_id uuid NOT NULL
);

-- What was claimed at a price and is on an invoice already; a promotion that is resumed bills the rest.
ALTER TABLE sandbox_steps ADD COLUMN invoice_id uuid;
ALTER TABLE sandbox_promotions ADD COLUMN invoices jsonb NOT NULL DEFAULT '[]'; -- id, number and total of each

-- How many actions of each sort a plan has, so that a list need not read them all.
ALTER TABLE sandbox_plans ADD COLUMN summary jsonb NOT NULL DEFAULT '{}';
UPDATE sandbox_plans SET summary = (
    SELECT coalesce(jsonb_object_agg(action, number), '{}')
    FROM (
        SELECT each ->> 'action' AS action, count(*) AS number
        FROM jsonb_array_elements(actions) AS each GROUP BY 1
    ) AS counted
);

-- With it a plan is held against its digest again before it is promoted; one that was stored before has none.
ALTER TABLE sandbox_plans ADD COLUMN manifest_digest text;
CREATE INDEX sandbox_plans_by_status ON sandbox_plans (account_id, status, id);
