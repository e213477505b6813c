"""What each further task adds to the model: a head, a loss, a way to use it."""
