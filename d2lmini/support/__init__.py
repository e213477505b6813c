"""What the package stands on and no chapter teaches: argument checks, devices, files."""
