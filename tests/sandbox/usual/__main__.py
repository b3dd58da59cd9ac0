"""Prints the table for the documentation."""

from usual import table

print(table())
