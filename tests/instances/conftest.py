"""Makes the scripts of the instances importable: they are no installed package."""

import sys
from pathlib import Path

INSTANCES = str(Path(__file__).parents[2] / "instances")

if INSTANCES not in sys.path:
    sys.path.insert(0, INSTANCES)
