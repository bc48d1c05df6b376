"""Mathematical models of the two problems for solver libraries: one module per formulation and per backend."""
