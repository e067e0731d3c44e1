"""Whether all is well: with the tables (`check`), and with what roost depends on (`status`)."""
