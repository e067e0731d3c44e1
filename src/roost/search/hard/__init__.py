"""Trees with more ways than can be tried: seen through, decided or searched with a budget."""
