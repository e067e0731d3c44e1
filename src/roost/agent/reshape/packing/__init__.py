"""Which consumer goes to which providers when resources move.

problem     the values that go in and come out, and the problem in numbers
wholeness   when a consumer is whole, and the places that keep it so
guess       a first packing: quick, usually good enough
remainder   consumers that cannot be kept whole
tight       packings that leave hardly any room: branches as `bins`, filled by `completion`
integers    the exact model, which HiGHS solves (`solver`)
search      all of them in turn
"""

from roost.agent.reshape.packing.problem import Demand, DoesNotFit, Offer, Packing
from roost.agent.reshape.packing.search import pack

__all__ = ["Demand", "DoesNotFit", "Offer", "Packing", "pack"]
