"""`python -m ruler_release` is `ruler`."""

from ruler_release.app import main

if __name__ == "__main__":
    main()
