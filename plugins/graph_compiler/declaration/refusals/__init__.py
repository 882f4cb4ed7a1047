"""Invalid calls: refused at once, or noted while a module is loaded, so that the rest of the module is checked."""
