-- Deliveries of events that were simulated in a sandbox: they go the way of all others, and say what they are.

ALTER TABLE webhooks_deliveries ADD COLUMN simulated boolean NOT NULL DEFAULT false;
