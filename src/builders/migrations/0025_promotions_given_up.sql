-- Why a promotion was ended that could not end by itself: code, message and retryable, as of a step.
ALTER TABLE sandbox_promotions ADD COLUMN error jsonb;
