"""The compute side: it runs on, or for, every host and reports the host's tree of resources.

driver         what a driver is: it turns the tree of the service into that of the machine
drivers/       the built-in drivers, and how others are found
provider_tree  the tree that a driver edits
desired_tree   the tree that a driver wants, and how the provider tree becomes it
reshape        moving inventories together with what consumers hold of them
packing        which consumer goes to which provider in such a move
report_client  reading a tree from the service, and writing it back
tree_update    the requests of one update, in their order
tree_diff      what an update would change, for people
tracker        updates of a host, at start and periodically
"""
