"""Questions the pages ask; nothing here writes."""
