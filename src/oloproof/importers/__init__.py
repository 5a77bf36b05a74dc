"""Traces that exist already, read without I/O: bytes in, recordings out, and word of everything that did not fit."""
