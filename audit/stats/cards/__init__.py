"""Cards as the statistics see them: their names, how stud deals them, and what hands are worth."""
