"""The tasks: a space, labelled words and a method in, a result out.

One module a task; each returns a frozen :class:`densray.report.Result` that carries what was used and what was missing.
"""
