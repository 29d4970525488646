"""One self-contained HTML page of a stored run.

``gather`` reads the store, ``compose`` turns records into blocks, ``file`` draws the blocks with the templates and
puts the page in its place. Figures are inline SVG by `tdelta.document.plot`. The page
holds no time but the run's own, so the same run gives the same bytes.
"""
