"""Write the tables of all four models to a new folder: `python -m timeveil.datasets DIR`."""

import sys
from pathlib import Path

import pyarrow.csv

from timeveil.datasets import baskets, clinic_visits, daily_cases, load_curves

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    tables = {"visits": clinic_visits(), "cases": daily_cases(), "loads": load_curves(), "baskets": baskets()}
    for name, table in tables.items():
        pyarrow.csv.write_csv(table, folder / f"{name}.csv")
