"""Every file that people or other tools write for forescale, read and checked; and how files are written whole."""
