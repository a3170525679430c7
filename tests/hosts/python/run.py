"""Runs test modules and closes with one plain line: `name: N passed, N failed, N skipped`."""

import pathlib
import sys
import unittest


def show_logs():
    import broker

    for log in broker.logs:
        print(f"--- log of bursar dev ---\n{log}", file=sys.stderr)


def main(modules):
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    broken = False
    for module in modules:
        tests = unittest.defaultTestLoader.loadTestsFromName(module)
        result = unittest.TextTestRunner(stream=sys.stderr, verbosity=2).run(tests)
        if not result.wasSuccessful():
            show_logs()
        failed = len(result.failures) + len(result.errors)
        skipped = len(result.skipped)
        passed = max(0, result.testsRun - failed - skipped)
        print(f"{module}: {passed} passed, {failed} failed, {skipped} skipped", flush=True)
        broken = broken or not result.wasSuccessful() or result.testsRun == 0
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
