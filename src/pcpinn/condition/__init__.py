"""How hard a problem is before any training: condition numbers, and what follows from them."""
