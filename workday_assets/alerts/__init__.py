"""Messages to people: what is wrong, told once, and once more when it is over."""
