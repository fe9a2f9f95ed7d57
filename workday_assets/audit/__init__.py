"""What was processed, what was not and why, and what a change of calendar makes wrong."""
