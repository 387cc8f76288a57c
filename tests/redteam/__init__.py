"""Attacks on timeveil, made anew from a seed each time, and what holds is counted by plain Python."""
