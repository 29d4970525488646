"""What several engines have in common, and no other package needs to know."""
