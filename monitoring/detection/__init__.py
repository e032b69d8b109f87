"""The detector: text in, values out. Imports no Django, no network, no clock and holds no state."""
