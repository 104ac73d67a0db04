"""Audits: each checks a row from its text, without anything that makes rows."""
