"""Make the step's `pipelines` importable, and pytest find the fixtures of the testing kit."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
