"""Paper 4: pattern release without inference channels (Revathi and Jeyalakshmi; channels after Atzori et al.)."""
