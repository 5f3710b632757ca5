-- works with: 1.0.0
-- run: before

-- Whether the browser has proved work, which a new address may need; and whether the code was mailed to a new address, whose
-- account it opens.
ALTER TABLE identity_sign_ins ADD COLUMN is_proved boolean NOT NULL DEFAULT false;
ALTER TABLE identity_sign_ins ADD COLUMN opens_account boolean NOT NULL DEFAULT false;
