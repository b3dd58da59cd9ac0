"""What a person opens after an experiment: one page, the same as Markdown and LaTeX, tables of all runs, figures."""
