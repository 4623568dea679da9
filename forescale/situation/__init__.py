"""What is known of a topology, assembled in one place; every command, page and job answers from it."""
