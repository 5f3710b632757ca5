"""Opens and clicks of emails: the endpoints of tracked links, and the counts that an account sees."""
