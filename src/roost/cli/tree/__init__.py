"""`roost tree`: what providers have, and how much of it is used.

The steps follow each other: `reading` gets the providers from a service, `forest` makes trees of
them, selects and sorts, `drawing` makes lines of the trees, and `printing` writes these. `watching`
does it again whenever something changed. `command` has the options.
"""
