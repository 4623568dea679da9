"""From settings and a topology file to the parts they name."""
