"""Shadow mode: what would have run under schedules that nobody deployed, compared with what ran."""
