"""Releases of the same data side by side: what each promises, publishes, loses and risks."""
