"""Storage that twins lie on: images in loop devices, what encrypts them, and rooms in them, one for each instance."""
