"""Results of other tools, one file a tool: recognized by content, streamed, and refused clearly where unreadable."""
