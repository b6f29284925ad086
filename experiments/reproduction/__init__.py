"""The paper's figures and tables, and some beside them: one module each, made with public names.

Functions `reproduce_...` take the folder of the results, which is made if it is not there, the
number of repetitions (random splits or simulated data sets; their seeds are 0, 1, ...) and
`n_jobs`, how many of these run at the same time. What is finished is kept in `folder/finished`.
They write tables and figures into the folder, and return a summary.
"""
