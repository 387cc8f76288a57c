"""`python -m timeveil`."""

from timeveil.cli import main

main()
