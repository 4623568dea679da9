"""What spark-submit runs. In a folder of their own: it puts the folder of the file that it runs on Python's path."""
