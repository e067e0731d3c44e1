"""Moving resources that consumers hold to other providers or to another class.

moving      functions for drivers that move inventories themselves
settlement  what the agent moves when a driver has changed the shape of a tree
demands     who has to move, and where to
renaming    classes that get another name
changes     how inventories differ between two trees
holdings    what consumers hold
whereabouts what a driver says of where it is
packing     which consumer goes to which provider
"""

from roost.agent.reshape.holdings import ReshapeImpossible
from roost.agent.reshape.moving import move_inventory, rename_class

__all__ = ["ReshapeImpossible", "move_inventory", "rename_class"]
