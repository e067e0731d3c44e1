"""The drivers of nova, as nova installs them, on roost's provider tree."""
