"""Three models side by side: execution time, memory and use of the processors, as a table and a page."""

import argparse

import modelmeter


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, help="samples of each model [default: until the median is precise]")
    parser.add_argument("--output", default="hardware_profiling.html", help="the page")
    asked = parser.parse_args()
    models = [
        modelmeter.small_transformer(),
        modelmeter.medium_transformer(),
        modelmeter.feed_forward_baseline(),
    ]
    suite = modelmeter.ModelBenchmarkSuite(models, modelmeter.ModelProfiler())
    print(suite.run(runs=asked.runs))
    print(f"report: {suite.generate_report(asked.output)}")


if __name__ == "__main__":
    main()
