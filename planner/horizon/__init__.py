"""The schedule over the whole horizon: plans of a ladder, sample paths of the load, one price of it all."""
