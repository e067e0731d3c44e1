"""`roost audit`: the command, what it does, and how it shows what it finds."""
