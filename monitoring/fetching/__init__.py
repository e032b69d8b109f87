"""The fetcher: requests in, captures out. Imports no Django and reads no settings."""
