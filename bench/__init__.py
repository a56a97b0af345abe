"""What `make bench` runs: speed and memory of the main job, each beside a reference measured in the same run."""
