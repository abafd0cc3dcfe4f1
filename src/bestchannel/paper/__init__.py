"""What exists only for the paper: its figures, complexities and growth, as printed and as really run."""
