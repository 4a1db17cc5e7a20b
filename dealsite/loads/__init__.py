"""Where loads of payments come from: files, and a generator for trials. `dealsite.data.payments.loads` writes them."""
