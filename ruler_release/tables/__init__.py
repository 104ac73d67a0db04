"""What the commands print of the builder's results and of a run; ruler_eval.report has the rest."""
