"""`python -m bestchannel` is the command line."""

from bestchannel.cli import main

main()
