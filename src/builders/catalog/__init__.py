"""The catalog: curated domains, availability of names on them, and suggestions of names."""
