"""What a manifest can hold: for each kind of resource its drafting (pure) and its steps."""
