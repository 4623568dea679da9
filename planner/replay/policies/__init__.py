"""Policies, one per file: static plans, other autoscalers in their best form, ours, and the optimum in hindsight."""
