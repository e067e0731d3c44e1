"""Claims of new consumers, those of many clients in one transaction."""
