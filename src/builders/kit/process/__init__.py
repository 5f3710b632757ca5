"""The process: settings, secret keys, logs, child processes."""
