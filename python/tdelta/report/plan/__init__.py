"""What ``tdelta plan`` prints: how long one must measure, in words, tables and curves, and the JSON document."""

from tdelta.report.plan.text import PLAN_SCHEMA, plan_document, plan_text
