"""What every judge needs to read any release: codes, published tables, checks and risks."""
