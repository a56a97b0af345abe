"""The pages of analysis: a question in the address, its answer in sentences, tables and figures."""
