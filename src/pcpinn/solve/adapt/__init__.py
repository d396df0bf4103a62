"""From an accuracy to an answer: discretisations and networks chosen by estimates, not by the user."""
