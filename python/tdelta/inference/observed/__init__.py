"""Verdicts from what other tools measured: from `tdelta.records.Observation` to `tdelta.records.AnalysisResult`.

`compare.analyze` is the entrance, `compare.analyze_with_pictures` the same with checks of its models. Each condition's
mean has a posterior from the model that fits its data; two posteriors give a ratio and a difference.
Deterministic, NumPy only, no sampling. The models are in ``docs/statistics.md``, their error rates in
``docs/validation.md``.
"""
