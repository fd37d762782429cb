"""Runs official clients of model protocols directly and through a proxy against a fake provider, and compares the bytes."""
