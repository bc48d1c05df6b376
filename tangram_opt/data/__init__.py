"""The data that flows through the package: frozen dataclasses of integers, without solver, file or terminal.

Times are nanoseconds, memory and messages are bytes, rates are bytes (or operations) per second.
The same classes are the bodies of the saved documents: :mod:`tangram_opt.documents` validates them at the edge.
"""
