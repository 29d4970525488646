"""How long must one measure here? From trials that were measured to the chance that a run of some length decides.

Noise and instance effects come from the shipped stages (`tdelta.inference.noise`, `tdelta.inference.rounds`), runs are
simulated by their sufficient statistics, and what a simulated run says is decided by the shipped decision. Assurance,
not power: the chance is averaged over what is known and not known of the noise (O'Hagan, Stevens and Campbell 2005,
Pharmaceutical Statistics 4:187). Random draws come from named streams of a fixed seed, so the same trials give the same
figures.
"""
