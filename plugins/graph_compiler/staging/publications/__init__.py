"""Publications to targets: ledger, intents, moving files into place, and places that must not overlap."""
