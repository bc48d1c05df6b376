"""Makes the helper modules of the composition tests importable, in every import mode of pytest."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "composition"))
