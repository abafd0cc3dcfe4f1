"""The tests, a package so that they can share generators and second implementations."""
