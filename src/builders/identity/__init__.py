"""Who is calling: accounts with their sandbox twins, API keys, scopes and presets."""
