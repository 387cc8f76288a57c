"""The door: tables of any kind come in, typed Arrow relations with roles go on."""

from timeveil.reading.door import read

__all__ = ["read"]
