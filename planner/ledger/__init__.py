"""The ledger: what was forecast, planned, approved and deployed, and the outcomes."""
