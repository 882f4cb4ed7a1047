"""What a client of runs asks of the Airflow of this host, and runs that are named after their date."""
