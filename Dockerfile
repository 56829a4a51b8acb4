# One static binary, nothing else: `make image`.
# For https requests of the built-in task http.request mount the host's
# certificates: -v /etc/ssl/certs:/etc/ssl/certs:ro
FROM scratch
COPY bin/heddle /heddle
VOLUME /data
ENTRYPOINT ["/heddle"]
