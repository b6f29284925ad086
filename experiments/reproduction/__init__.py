"""The paper's figures and tables, and some beside them: one module each, made with public names."""
