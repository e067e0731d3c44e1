"""Whether all is well: `roost db check` (check.py) and `roost status` (status.py).

findings.py        the kinds of findings in the tables
inspection.py      finds wrong rows in the tables
definitions.py     finds missing indexes and keys
index_check.py     compares an index with the tables
repair.py          repairs findings
configuration.py   whether roost can work with its configuration; the start checks the same
server.py          settings of the database server, and the rules for them
character_sets.py  character sets and collations of the tables in MySQL and MariaDB
outcome.py         the result of one check of `roost status`
upgrade_check.py   the checks of `placement-status upgrade check`
"""
