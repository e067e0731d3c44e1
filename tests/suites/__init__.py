"""The functional tests of other projects, unmodified, against a running roost."""
