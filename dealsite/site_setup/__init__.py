"""What a site needs on its first day: the table with what every site has in it, and whether all around it works."""
