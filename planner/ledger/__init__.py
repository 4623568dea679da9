"""The ledger: what was forecast, planned, approved, deployed, and what came of it."""
