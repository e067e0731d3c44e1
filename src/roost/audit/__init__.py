"""Compares what consumers hold with what a cloud knows, and gives back what nobody owns.

`known.py` says who is known, `comparison.py` finds what does not agree with it, and `findings.py`
is what it finds: values and pure functions. `nova.py` asks nova who is known. `release.py` gives
back and `restore.py` puts back; `record.py` is the file between them.
"""
