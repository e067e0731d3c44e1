"""`roost demo`: a small data centre to try roost with, how it is loaded, and how it is removed."""
