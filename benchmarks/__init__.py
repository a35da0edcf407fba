"""Measurements of the package; nothing in it imports them."""
