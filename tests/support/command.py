"""The `workday-assets` command as a person runs it, on a state root of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.processes import heed_ctrl_c
from support.projects import REPOSITORY

COMMAND = str(Path(sys.executable).with_name("workday-assets"))


class Project:
    """The repository with a state root of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = {
            **os.environ,
            "WORKDAY_ASSETS_HOME": str(root),
            "WORKDAY_ASSETS_POSTGRES_URL": "",
            "DAGSTER_HOME": "",
            "COLUMNS": "200",
        }

    def start(self, *words: str, **options: Any) -> subprocess.Popen[str]:
        """The command, running."""
        return subprocess.Popen(
            [COMMAND, *words],
            cwd=REPOSITORY,
            env=self.environment,
            text=True,
            preexec_fn=heed_ctrl_c,  # noqa: PLW1509
            **options,
        )

    def run(self, *words: str, code: int = 0) -> str:
        """What the command prints, error output included; its exit code must be `code`."""
        with self.start(*words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            said = process.communicate()[0]
        assert process.returncode == code, said
        return said

    def data(self, *words: str, code: int = 0) -> Any:
        """What the command prints with `--json`, parsed; text for people goes elsewhere."""
        with self.start(
            *words, "--json", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            said = process.communicate()[0]
        assert process.returncode == code, said
        return json.loads(said)

    def files(self, asset: str) -> list[str]:
        """The partitions stored of an asset."""
        return sorted(path.stem for path in (self.root / "data" / "ecb" / asset).glob("*.parquet"))
