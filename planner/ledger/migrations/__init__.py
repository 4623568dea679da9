"""Revisions of the ledger's tables, applied in order by planner.ledger.migrate."""
