"""The README's Python is run, so that it stays true."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
BLOCKS = re.findall(
    r"```python\n(.*?)```", (REPOSITORY / "README.md").read_text("utf-8"), re.DOTALL
)


@pytest.mark.parametrize("block", BLOCKS, ids=[f"block-{n}" for n in range(len(BLOCKS))])
def test_python_block_runs_and_prints_what_it_says(block: str) -> None:
    """A block runs in a new process; the comment behind a print says what is printed, then why."""
    done = subprocess.run(
        [sys.executable, "-c", block], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said = re.findall(r"^print\(.*\)\s+# ([^,\n]+)", block, re.MULTILINE)
    assert done.stdout.splitlines() == said


def test_commands_of_the_readme_exist() -> None:
    """Every command in the README's table is one that the program knows."""
    text = (REPOSITORY / "README.md").read_text("utf-8")
    names = re.findall(r"^\| `(\w+)[^`]*` \|", text, re.MULTILINE)
    assert len(names) == 8
    for name in names:
        done = subprocess.run(
            [str(Path(sys.executable).with_name("workday-assets")), name, "--help"],
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, name
