"""Where loads of payments come from: files, and a generator for trials. `payment_loads` writes them."""
