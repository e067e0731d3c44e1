"""Memory that this process has, and no longer needs."""

import ctypes


def give_back() -> None:
    """Let the operating system have the free memory that the C library keeps for later.

    Only glibc keeps much, and only glibc has this function.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
