"""The nouns: frozen values without I/O, clock or mathematics. Every stage speaks in these."""
