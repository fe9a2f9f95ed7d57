"""The pipeline on the European Central Bank's euro reference rates."""
