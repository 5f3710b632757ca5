-- What the accounts of before the profile have done already: no news of it will come any more. Apart from the tables,
-- whose foreign keys lock the accounts; what happens while processes of before still run, profile.catch_up notes.

INSERT INTO profile_profiles (account_id, roles)
SELECT account.id, ARRAY(
    SELECT DISTINCT CASE preset WHEN 'domainer_full' THEN 'domainer' ELSE 'builder' END
    FROM identity_keys WHERE account_id = account.id ORDER BY 1
)
FROM identity_accounts AS account WHERE sandbox_of IS NULL
ON CONFLICT DO NOTHING;

-- Of accounts that have a profile now: others may have been made meanwhile.
INSERT INTO profile_steps (account_id, step, done_at)
SELECT account_id, step, done_at
FROM (
    SELECT id, 'verify_email', email_verified_at FROM identity_accounts
    WHERE sandbox_of IS NULL AND email_verified_at IS NOT NULL
    UNION ALL
    SELECT account_id, 'create_api_key', min(created_at) FROM identity_keys GROUP BY account_id
    UNION ALL
    SELECT account_id, 'first_plan', min(created_at) FROM sandbox_plans WHERE status <> 'blocked' GROUP BY account_id
    UNION ALL
    SELECT account_id, 'first_promote', min(finished_at) FROM sandbox_promotions
    WHERE status = 'succeeded' GROUP BY account_id
) AS done (account_id, step, done_at) JOIN profile_profiles USING (account_id)
ON CONFLICT DO NOTHING;
