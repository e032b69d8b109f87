"""Documents that are no HTML, each read as its readers would: text in, a `Reading` of blocks out."""
