"""One module a page: parse, ask a selector or call a service, render or redirect."""
