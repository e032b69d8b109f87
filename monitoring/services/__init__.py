"""What the machine side does; the only writers of its tables."""
