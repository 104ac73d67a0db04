"""A prompt under construction, the haystacks, and filling a window exactly."""
