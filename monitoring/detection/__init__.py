"""The detector: text in, values out. Imports no Django, no network, no clock and holds no state."""

import sys

from .native import folder

_compiled = folder()
if _compiled is not None:  # the same modules, compiled: found before the sources
    __path__.insert(0, str(_compiled / "monitoring" / "detection"))
    sys.path.append(str(_compiled))  # for the one library they share
