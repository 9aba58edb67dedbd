module tls-client

go 1.22
