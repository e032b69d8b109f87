"""The sample workspace: fictional pages that change as real ones do, served by the product itself on loopback."""
