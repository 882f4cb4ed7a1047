"""All that can be wrong with a declaration, found before anything is translated."""
