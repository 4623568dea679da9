"""Everything that a decision needs, checked in the order in which it is needed, each with what helps."""
