"""The judge: what policies would have done on a real arrival trace, minute by minute, and what that would have cost."""
