"""`python -m modelmeter` is the program `modelmeter`."""

import sys

from .pipeline import main

if __name__ == "__main__":
    sys.exit(main())
