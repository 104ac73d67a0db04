"""Run `python -m ruler_release`, which is the same as `ruler`."""

from ruler_release.app import main

if __name__ == "__main__":
    main()
