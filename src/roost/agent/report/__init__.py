"""Reading the tree of a host from the service, and writing back what changed.

report_client      what a tracker uses
tree_reader        the tree of a host, and the providers that share resources with it
allocation_reader  what consumers hold; after a lost race, only what has changed
tree_update        the requests of one update, in their order
renames            the order in which names change hands
custom_names       classes and traits that must exist before a provider can have them
provider_contents  traits, aggregates and inventories of one provider
attempts           an update again, after its reshape has lost a race
claim_pause        claims on a tree wait for a moment
"""
