"""Publications to folders of HDFS: prepared folders are claimed, and their files moved in, by renames."""
