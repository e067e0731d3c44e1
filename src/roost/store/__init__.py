"""SQL: the tables, the transactions on them, and the change feed between processes.

store.py            `Store`: runs units of work, loads everything, reads what changed
transaction.py      `Transaction`: what a unit of work gets, with an attribute for each table
change_record.py    what one write transaction changed, as other processes read it
schema.py           the tables: Placement's, and roost's own
standard_names.py   standard resource classes and traits, synchronised at every start
connection/         engines, write transactions and reads, statements, driver errors
tables/             the rows of each table; `reads` and `index_rows` read outside of transactions
feed/               the change feed: its writer, its reader, polling, positions, history
adoption/           databases that a release of Placement left behind
migrations/         creates and migrates the tables
"""
