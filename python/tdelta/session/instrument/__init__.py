"""`tdelta plan` and `tdelta calibrate`: runs of identical copies, and what they say of the instrument."""
