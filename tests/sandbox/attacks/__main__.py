"""Prints the table for the documentation."""

from attacks import table

print(table())
