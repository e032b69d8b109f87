"""Web processes: threads, because a page waits for the database; replaced now and then, so that no leak lives for long."""

bind = "0.0.0.0:8000"
worker_class = "gthread"
workers = 2
threads = 8
timeout = 60
graceful_timeout = 20
keepalive = (
    65  # longer than the proxy in front keeps a connection, so that it never writes into one that was just closed
)
max_requests = 5_000
max_requests_jitter = 500
limit_request_line = 8_190
limit_request_fields = 60
limit_request_field_size = 8_190
worker_tmp_dir = "/dev/shm"  # noqa: S108 - a folder in memory: a heartbeat on a slow disk looks like a worker that hangs
control_socket_disable = True
accesslog = None  # the proxy in front writes one
errorlog = "-"
loglevel = "warning"
