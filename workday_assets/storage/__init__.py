"""Where state lives: the instance's Postgres and files, and the Parquet I/O manager.

Nothing is imported here, so that finding the state root costs no import of Dagster.
"""
