"""The document model of answers, details and pages: blocks, labels, numbers with their units, and plots."""
