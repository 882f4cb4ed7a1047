"""What an installation of Airflow decides, and what it can be asked."""
