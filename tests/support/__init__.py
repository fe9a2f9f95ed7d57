"""What several test modules share: real processes, and the ECB's file read independently."""
