"""Makes the small planning problems of the enumeration's tests importable, in every import mode of pytest."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "enumeration"))
