"""`python -m roost` is the `roost` command."""

from roost.cli.main import main

if __name__ == "__main__":
    main()
