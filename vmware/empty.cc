// Placeholder until the room has a source of its own.
