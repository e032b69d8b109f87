"""`make calibrate-sim`: calibration from deliberately wrong cuts, with a scripted analyst; see docs/calibration.md."""
