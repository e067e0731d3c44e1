"""One process of the service: its store and its index, and what its threads share.

service.py        Roost: the index, caught up with the change feed before each answer
contention.py     which providers writers compete for, and queues for them
event_waiters.py  threads that wait for the change feed to move
readiness.py      whether the process can answer now
"""
