"""How many entries the parts of a request may have.

Each bound is far above what any client sends, and low enough that a request at the bound is read
and refused, or served, in a fraction of a second. Schemas and parsers of query strings share them.
"""

# -- searches ----------------------------------------------------------------------------------

# Request groups of one search. Nova has one for each port and device of a server: some dozens.
GROUPS_MAX = 256
# Resource classes that one group asks for.
GROUP_CLASSES_MAX = 256
# Amounts that may be split, of all groups: each is split among the providers of every tree.
SPLITS_MAX = 256
# Names in one parameter, its repetitions included: traits, aggregates, classes. A URL of 64 kB, the
# longest that is read, has room for 1770 aggregates.
NAMES_MAX = 2000
# Providers whose consumers one list is asked for. 1000 make a URL of 39 kB.
LISTED_PROVIDERS_MAX = 1000
# Values of `same_subtree` and of `isolate`. A rule for each pair of 40 groups has 780.
RULES_MAX = 1000
# Names and values in a query string. Each group has a handful.
PARAMETERS_MAX = 5000

# -- what is stored ----------------------------------------------------------------------------

# Resource classes of which one provider has an inventory, or one consumer an allocation there.
CLASSES_MAX = 2000
# Traits of one provider. There are some 400 standard ones.
TRAITS_MAX = 10_000
# Aggregates of one provider.
AGGREGATES_MAX = 10_000
# Providers from which one consumer has allocations.
PROVIDERS_PER_CONSUMER_MAX = 1000
# Consumers that change in one request. A reshape has all consumers of one host.
CONSUMERS_MAX = 10_000
# Consumers that one request places. All are placed in one transaction.
PLACED_CONSUMERS_MAX = 10_000
# Groups and amounts of all consumers that one request places. MariaDB stores an answer of 16 MB.
PLACED_AMOUNTS_MAX = 150_000
# Providers whose inventories change in one reshape: those of one tree.
PROVIDERS_MAX = 10_000

# -- bodies as a whole -------------------------------------------------------------------------

# Values in a body, keys not included. They are counted before it is parsed.
VALUES_MAX = 25_000
# The same where a body holds many consumers.
VALUES_OF_CONSUMERS_MAX = 250_000
# Backslashes in a body. A megabyte of text in any script has fewer.
ESCAPES_MAX = 1_000_000
