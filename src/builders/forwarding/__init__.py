"""Mail to the claimed names: what a mail server looks up, and the same as files."""
