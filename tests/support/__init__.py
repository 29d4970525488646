"""Helpers of several test folders: samples, fake twins, private servers, and plug-ins of pytest."""
