"""Which version of the library this is, as records say; whether they hold depends on the revision of their policy."""

VERSION = "0.2.0"
