"""Which version of the library this is: records name it, since another version may choose otherwise."""

VERSION = "0.2.0"
