"""Answers: evaluated, compared, drawn, stored."""
