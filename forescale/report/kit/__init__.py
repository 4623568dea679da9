"""Building blocks of all pages: figures, tables, templates, wording."""
