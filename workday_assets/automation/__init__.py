"""Dagster's schedules and sensors around the planner."""
