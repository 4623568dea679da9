"""Policies, one a file: static plans, autoscalers of others in their best form, ours, and the best in hindsight."""
