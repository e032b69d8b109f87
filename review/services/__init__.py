"""The only writers of the human side."""
