"""Canaries, as arithmetic: which page shows what at which moment, and what a visit should have found."""
