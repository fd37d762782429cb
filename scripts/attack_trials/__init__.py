"""The attacks of `scripts/attack`, a file for each kind."""
