from typing import Any

from tdelta.records import Measurement
from tdelta.records.parts import flat, nested


def measurement_of(**values: Any) -> Measurement:
    return Measurement(**nested(Measurement, values))


def changed(measured: Measurement, **values: Any) -> Measurement:
    return measurement_of(**{**dict(flat(measured)), **values})
