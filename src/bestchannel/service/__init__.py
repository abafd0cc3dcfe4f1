"""The service that instruments talk to, its page, and the clients that sense and watch."""
