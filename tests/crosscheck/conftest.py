"""Makes the helper modules of this folder importable, from its tests and from the processes that they start."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "islands"))
