"""Which timeveil this is."""

VERSION = "0.1.0"
TOOL = f"timeveil {VERSION}"
