"""The version, once, for the package and for whoever builds it."""

__version__ = "0.1.0"
