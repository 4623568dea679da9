"""What plans cost for an hour: by their instances, or by the containers and nodes that a packing of them opens."""
