"""The judge: replays policies on a real arrival trace, minute by minute, and measures what they would have cost."""
