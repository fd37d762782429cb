"""Parts of `scripts/site`."""
