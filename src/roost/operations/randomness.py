"""The random numbers of a process, which are others than those of its siblings. No secrets."""

import os
from random import Random

# To make a generator takes as long as a part of a search. Any thread may use this one.
RANDOM = Random()

# A forked process would go on with the numbers of its parent.
os.register_at_fork(after_in_child=RANDOM.seed)
