"""The texts of findings and reports in Chinese."""
