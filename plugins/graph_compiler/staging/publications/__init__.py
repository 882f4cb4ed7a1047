"""Publications to targets: ledgers, intents, moving files into place, and checks that places do not overlap."""
