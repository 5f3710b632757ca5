"""Profile: who an account is, whether its address is confirmed, and how far its onboarding has come."""
