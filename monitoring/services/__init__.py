"""The only writers of the machine side."""
