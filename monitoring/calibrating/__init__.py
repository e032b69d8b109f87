"""What verdicts, quiet fetches and the audit sample say about cut and threshold, and whether watching still works: as arithmetic.

Values in, values out: no database, no clock, no page texts. docs/calibration.md defines every quantity.
"""
