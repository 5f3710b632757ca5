-- A notice can be repeated each day until it is acknowledged, and holds the sentence about an event.

ALTER TABLE portfolio_notifications_keys
    ADD COLUMN notified_on date, -- of the latest notice; null where an earlier release made it
    ADD COLUMN acknowledged_at timestamptz; -- of an expiry: there is no other notice about it
ALTER TABLE portfolio_notifications_notices
    ADD COLUMN acknowledged_at timestamptz,
    ADD COLUMN title text; -- of a published event; null: the other members say it
