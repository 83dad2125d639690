"""The compiled page scanner (`content/scan/native`): its build, its time in steps, and sanitizers under fuzzing.

That it finds what the Python scanner finds is tested in `tests/properties/test_scanners_agree.py`.
"""
