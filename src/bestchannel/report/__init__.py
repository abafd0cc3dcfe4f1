"""Results as pictures and pages for people."""
