-- A key is rotated once: a second rotation would leave three valid keys.

ALTER TABLE identity_keys ADD COLUMN rotated_at timestamptz;
-- Rotations of earlier releases are known by the expiry that they set.
UPDATE identity_keys SET rotated_at = expires_at WHERE expires_at IS DISTINCT FROM asked_expires_at;
