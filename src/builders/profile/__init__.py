"""Profile: the profile of an account, the verification of its address, and its onboarding."""
