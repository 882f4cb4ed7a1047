"""The place of the notifier in earlier versions, which serialized Dags name."""
