def clean(rows:
