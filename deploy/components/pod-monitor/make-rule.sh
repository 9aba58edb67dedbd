#!/usr/bin/env bash
# Writes prometheus-rule.yaml from deploy/monitoring/rules.yaml; a test holds the two together.
set -euo pipefail
cd "$(dirname "$0")"
{
  cat <<'YAML'
# Made by make-rule.sh.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: postrider
spec:
YAML
  sed -e '/^#/d' -e 's/^\(.\)/  \1/' ../../monitoring/rules.yaml
} >prometheus-rule.yaml
