"""The compute side: what runs on, or for, every host, and reports its tree of resources."""
