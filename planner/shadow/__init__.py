"""Shadow mode: what would have run under schedules that nobody deployed, beside what ran."""
