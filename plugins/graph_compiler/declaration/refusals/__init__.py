"""Calls that cannot be made: refused at once, or noted while a module is loaded, so that the rest of it is checked."""
