-- Where a person returns to after signing in with the link of the message: a path of this service.

ALTER TABLE identity_sign_ins ADD COLUMN return_to text CHECK (return_to LIKE '/%' AND return_to NOT LIKE '//%');
