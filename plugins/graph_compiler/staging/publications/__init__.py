"""Publications to targets: ledger, intents, files brought to their place, places that must not meet."""
