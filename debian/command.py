#!/usr/lib/roost/bin/python3
"""`roost`, which uses the configuration of the service on this machine, unless told otherwise.

It is no shell script, because the program tells users by its own path how to call it.
"""

import os

from roost.cli.main import main

FOLDER = "/etc/roost"

if __name__ == "__main__":
    if os.access(f"{FOLDER}/placement.conf", os.F_OK):
        os.environ.setdefault("OS_PLACEMENT_CONFIG_DIR", FOLDER)
    main()
