"""Makes the helper modules of the tests of islands and compositions importable, in every import mode of pytest."""

import sys
from pathlib import Path

for folder in ("composition", "islands"):
    sys.path.insert(0, str(Path(__file__).parents[1] / folder))
