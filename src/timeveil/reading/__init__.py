"""Every way in: tables of any kind become typed Arrow relations with roles."""

from timeveil.reading.table import read

__all__ = ["read"]
