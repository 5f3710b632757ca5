"""What is sent to the sandbox: a file for the manifest, one for the consent to a plan."""
