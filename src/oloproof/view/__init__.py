"""The pages of the stored runs, over HTTP for the one who started it: nothing is written, nothing else is reached.

``door`` decides who comes in, ``pages`` what is shown, ``live`` what is told of a run that goes on, ``app`` puts the
three together, and ``serving`` runs it until a signal comes. Starlette and uvicorn are imported by ``app`` and
``serving``, and by nothing else of the package.
"""
