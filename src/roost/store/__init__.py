"""SQL: the tables, transactions on them, and the change feed between processes.

store.py         Store: run a unit of work, load everything, read what changed
transaction.py   what a unit of work is given: one attribute for each kind of table
  providers, trees, inventories, traits, aggregates, consumers, allocations, catalog
  session.py     what these share
writer.py        the feed's writing side: numbers, records, COMMIT, who is gone
feed.py          the feed's reading side; rows.py reads, record.py is one record
reads.py         questions that the index does not answer
database.py      how transactions and reads begin and end; engine.py opens, per dialect
failures.py      driver errors: what to try again, what means that the database is away
schema.py        the tables; migrate.py, migrations/ create them, standard.py fills in names
"""
