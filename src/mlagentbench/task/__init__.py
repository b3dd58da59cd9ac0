"""Tasks: what one is, where it is found, and how its data and its interpreter are made ready."""
