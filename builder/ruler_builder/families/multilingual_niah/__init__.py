"""ONERULER's five niah tasks."""
