"""The commands. Their arguments, output and exit codes are those of Placement's commands."""
