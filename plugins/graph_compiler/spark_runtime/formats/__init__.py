"""What files of a format can hold (docs/formats.md): columns are judged before a row is written, values as they are."""
