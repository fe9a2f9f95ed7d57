"""What loading the project may cost: no data is read, no server is started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
CODE = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
import workday_assets.definitions as project
project.defs.get_repository_def()
print([path for path in opened if path.endswith(("hist.zip", ".parquet", "postgres.users"))])
"""


def test_definitions_load_without_reading_data() -> None:
    """Loading the code location opens neither the ECB's file, nor stored data, nor the database."""
    found = subprocess.run(
        [sys.executable, "-c", CODE], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert found.stdout.splitlines()[-1] == "[]"
    assert "Warning" not in found.stderr
