"""`roost agent`: the command, what it does, and how it shows plans and updates."""
