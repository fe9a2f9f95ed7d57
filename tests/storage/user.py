"""A process that uses the embedded server of the state root in its first argument.

It says the server's process id, then answers one line for every line it is told:
`put WORD` stores a word, `get` says all words, sorted. It ends with its standard input. Told by
Ctrl-C to end, it first stores the word `interrupted`.
"""

import sys
from pathlib import Path

import sqlalchemy

from workday_assets.storage.server import join_server


def main(root: Path) -> None:
    """Serve the lines on standard input until it ends."""
    lease = join_server(root)
    engine = sqlalchemy.create_engine(lease.url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql("SELECT pg_advisory_lock(1)")
        connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS words (word text)")
        connection.exec_driver_sql("SELECT pg_advisory_unlock(1)")
        say((root / "postgres" / "postmaster.pid").read_text().split()[0])
        try:
            for line in sys.stdin:
                say(answer(connection, line.split()))
        except KeyboardInterrupt:
            answer(connection, ["put", "interrupted"])


def say(line: str) -> None:
    """Write one line, at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def answer(connection: sqlalchemy.Connection, words: list[str]) -> str:
    """What to say to one line."""
    if words[0] == "put":
        connection.exec_driver_sql("INSERT INTO words VALUES (%s)", (words[1],))
        return "stored"
    rows = connection.exec_driver_sql("SELECT word FROM words ORDER BY word")
    return " ".join(row[0] for row in rows) or "nothing"


main(Path(sys.argv[1]))
