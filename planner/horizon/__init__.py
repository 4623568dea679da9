"""The schedule over the whole horizon: plans of a ladder, sample paths of the load, and prices that weigh them."""
