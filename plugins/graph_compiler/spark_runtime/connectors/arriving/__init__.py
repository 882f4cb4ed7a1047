"""Sources that never end: files that arrive, and topics of Kafka, as the query of a stream reads them."""
