"""Makes the helper modules of this folder importable from its tests, in every import mode of pytest."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
