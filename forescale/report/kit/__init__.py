"""What all pages are made of: figures, tables, templates, wording."""
