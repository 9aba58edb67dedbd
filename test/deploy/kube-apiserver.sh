#!/usr/bin/env bash
# Builds kube-apiserver, which no registry has as a program, from its Go modules: about 15 minutes of CPU time and
# 6 GB of caches, once. The published module replaces its staging modules with folders that are not published.
set -euo pipefail
version=${1:-v1.34.2}
bin=~/.cache/postrider/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

go mod init apiserver
source=$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
awk '$2 == "v0.0.0" { print $1 }' "$source/go.mod" | sort -u | while read -r module; do
  go mod edit -replace="$module=$module@v0.${version#v1.}"
done
go mod edit -require="k8s.io/kubernetes@$version"
printf '//go:build tools\n\npackage apiserver\n\nimport _ "k8s.io/kubernetes/cmd/kube-apiserver/app"\n' >tools.go
go mod tidy
mkdir -p "$bin"
go build -o "$bin/kube-apiserver" \
  -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version" k8s.io/kubernetes/cmd/kube-apiserver
