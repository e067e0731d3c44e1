"""The compute side: it runs on, or for, every host and reports the host's tree of resources.

driver          what a driver is: it turns the tree of the service into that of the machine
drivers/        the built-in drivers, and how others are found
guarded_driver  a driver whose failures are one line, and whose answers are checked
provider_tree   the tree that a driver edits
desired_tree    the tree that a driver wants, and how the provider tree becomes it
reshape/        moving inventories together with what consumers hold of them
report/         reading a tree from the service, and writing it back
tree_diff       what an update would change, for people
tracker         one update of a host
rounds          updates of all nodes of a driver, once or periodically
stopping        ending an update between two requests
"""
