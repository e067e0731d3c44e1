"""Whether all is well: `roost db check` (check.py) and `roost status` (status.py).

findings.py       the kinds of findings in the tables
inspection.py     finds wrong rows in the tables
index_check.py    compares an index with the tables
repair.py         repairs findings
server.py         settings of the database server, and the rules for them
outcome.py        the result of one check of `roost status`
upgrade_check.py  the checks of `placement-status upgrade check`
"""
