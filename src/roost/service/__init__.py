"""One process of the service: its store and its index, and what its threads share.

service.py        Roost: the index, caught up with the change feed before each answer
contention.py     which providers writers compete for, and queues for them
event_hub.py      the clients that wait for events, and the thread that reads the feed for them
watcher.py        one such client
readiness.py      whether the process can answer now
"""
