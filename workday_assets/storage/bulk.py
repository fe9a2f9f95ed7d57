"""Many rows in one transaction: written by Postgres's `COPY`, and never in doubt about the end.

`COPY` is the cheapest way into a table: no statement per row, no parameter to bind. Rows and their
indexes, triggers and constraints are those of an `INSERT`.
"""

from __future__ import annotations

import io
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy

Value = str | int | datetime | None
Row = Mapping[str, Value]

_ESCAPES = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"))
_PIECE = 1 << 20  # characters sent at once
_OUTCOME_SECONDS = 60


def reserve_ids(
    connection: sqlalchemy.Connection, column: sqlalchemy.Column[int], count: int
) -> list[int]:
    """The next `count` numbers of the sequence behind a column, ascending; they are taken."""
    sequence = sqlalchemy.func.pg_get_serial_sequence(column.table.name, column.name)
    rows = sqlalchemy.func.generate_series(1, count).table_valued("n")
    number = sqlalchemy.func.nextval(sequence)
    query = sqlalchemy.select(sqlalchemy.func.array_agg(number)).select_from(rows)
    numbers: Any = connection.execute(query).scalar_one()
    return sorted(numbers)


def copy_rows(
    connection: sqlalchemy.Connection,
    table: sqlalchemy.Table,
    rows: Sequence[Row],
) -> None:
    """Write rows, in their order, in the connection's transaction.

    Args:
        connection: a connection with the driver psycopg2.
        table: where.
        rows: values by column, the same columns in every row; other columns get their default. A
            `datetime` is naive.
    """
    if not rows:
        return
    quote = connection.dialect.identifier_preparer.quote
    columns = list(rows[0])
    names = ", ".join(quote(table.c[name].name) for name in columns)
    text = "".join("\t".join([_text(row[name]) for name in columns]) + "\n" for row in rows)
    cursor: Any = connection.connection.cursor()
    with cursor:
        statement = f"COPY {quote(table.name)} ({names}) FROM STDIN"
        cursor.copy_expert(statement, io.StringIO(text), _PIECE)


def start_transaction(connection: sqlalchemy.Connection) -> int:
    """The number of the connection's transaction, under which its outcome can be asked for."""
    return int(connection.execute(sqlalchemy.select(sqlalchemy.func.txid_current())).scalar_one())


def was_committed(engine: sqlalchemy.Engine, transaction: int) -> bool:
    """Whether a transaction was committed; waits until its connection noticed its end.

    For a transaction whose client got an error: the connection may have broken after the server
    committed, on the way of the answer.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: the server cannot be asked.
        TimeoutError: it is still open after a minute.
    """
    status = sqlalchemy.select(sqlalchemy.func.txid_status(transaction))
    deadline = time.monotonic() + _OUTCOME_SECONDS
    while time.monotonic() < deadline:
        with engine.connect() as connection:
            outcome = connection.execute(status).scalar()
        if outcome != "in progress":
            return bool(outcome == "committed")
        time.sleep(0.05)
    raise TimeoutError(f"transaction {transaction} is still open after {_OUTCOME_SECONDS} s.")


def _text(value: Value) -> str:
    if value is None:
        return "\\N"
    text = str(value)
    for character, escaped in _ESCAPES:
        if character in text:
            text = text.replace(character, escaped)
    return text
