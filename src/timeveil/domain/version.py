"""Which timeveil this is."""

__version__ = "0.1.0"
TOOL = f"timeveil {__version__}"
