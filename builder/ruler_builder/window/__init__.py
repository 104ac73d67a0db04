"""The prompt under construction, haystacks, and filling a window exactly."""
