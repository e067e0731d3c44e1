"""What drivers that describe a machine share: its resources, their options, and their providers.

Such a driver finds out what the machine has (`linux` from /sys and /proc, `libvirt` from libvirt).
The providers have the same names whichever driver describes them, so that one can replace another.
"""
