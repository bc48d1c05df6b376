"""``python -m tangram_opt`` is the command line ``tangram-opt``."""

from tangram_opt.cli import main

if __name__ == "__main__":
    main()
