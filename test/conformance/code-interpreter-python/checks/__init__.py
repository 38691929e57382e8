"""Named checks by area; each takes the class under test and a sandbox of its area."""
