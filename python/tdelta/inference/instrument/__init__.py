"""What can be detected on this machine, in how long, and how often is it wrong? `tdelta plan` and `tdelta calibrate`.

Both learn noise and instance effects from runs that were measured (`measured`), by the stages that verdicts use
(`tdelta.inference.noise`, `tdelta.inference.rounds`). Both simulate runs by their sufficient statistics (`simulation`),
and what a simulated run says is decided by the shipped decision. `prospects` asks how long a run must be, `calibration`
what a run of some length shows and how far results are from a known truth. Assurance, not power: the chance is averaged
over what is known and not known of the noise (O'Hagan, Stevens and Campbell 2005, Pharmaceutical Statistics 4:187).
Random draws come from named streams of a fixed seed, so the same trials give the same figures.
"""
