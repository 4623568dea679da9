"""Raw events in files, counted: rows are read and counted in Spark's tasks, a million at a time, with numpy."""
