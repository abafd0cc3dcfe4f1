"""`python -m bestchannel` is the command line."""

try:
    from bestchannel.cli import main
except KeyboardInterrupt:
    raise SystemExit(130) from None

main()
