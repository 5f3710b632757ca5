"""Opens and clicks of mail: what the links that mail mints lead to, and what an account is told of them."""
