"""The process: settings, secret keys, logs."""
