"""ONERULER's cwe_easy and cwe_hard."""
