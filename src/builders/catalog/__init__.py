"""The catalog: curated domains, whether a name on them is free, and names that would fit."""
