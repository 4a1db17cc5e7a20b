"""How dates are written in German, where Django's own way is too long for a table."""

DATE_FORMAT = "j. N Y"  # 24. Nov. 2026
