"""All that leans on what Spark keeps private: plans, origins, listeners, its status store."""
