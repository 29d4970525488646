"""Plots as inline SVG, drawn from nothing but text: scales, ticks, marks, axes. Knows no run and no verdict.

Colours and type come from the page's style sheet through class names, so that one drawing serves light, dark and
print. Coordinates are pixels of the drawing's own viewBox, in which a label is as large as on the page.
"""

from tdelta.document.plot.axes import (
    Frame,
    band,
    bottom_axis,
    fitted,
    ground,
    left_axis,
    roomy,
    vertical_line,
)
from tdelta.document.plot.marks import (
    circle,
    diamond,
    drawing,
    element,
    group,
    line,
    path,
    polyline,
    rect,
    square,
    text,
)
from tdelta.document.plot.scale import Scale, ratio_scale, scale_over
from tdelta.document.plot.text import SIZE, SMALL, text_width, wrapped
from tdelta.document.plot.ticks import (
    Tick,
    clock_ticks,
    linear_steps,
    log_steps,
    nanosecond_ticks,
    overhead_ticks,
    plain_ticks,
    quantile_ticks,
)
