"""What ``tdelta analyze`` shows: text for a terminal, a JSON document, an HTML page with its figures."""

from tdelta.report.analysis.page import compose_analysis
from tdelta.report.analysis.terminal import ANALYSIS_SCHEMA, analysis_document, analysis_text
