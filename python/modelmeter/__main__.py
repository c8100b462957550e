"""`python -m modelmeter` is the program `modelmeter`."""

import sys

from .pipeline import main

sys.exit(main())
