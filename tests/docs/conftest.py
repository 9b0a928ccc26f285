"""The browser of the report's tests opens the site too."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "probe"))
