"""One real model's answers with their references: to try `ruler score` and its kin on."""
