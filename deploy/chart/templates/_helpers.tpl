{{- /* Made by `npm run deploy:chart`. */ -}}
{{- define "postrider.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "postrider.defaults" -}}
GATEWAY_PORT: "8080"
LOG_FORMAT: "json"
OPS_PORT: "9464"
{{- if not .Values.components.dev }}
TOPIC_REPLICATION_FACTOR: "3"
{{- end }}
{{- if .Values.components.strimzi }}
KAFKA_BROKERS: "{{ .Values.strimzi.cluster }}-kafka-bootstrap.{{ .Values.strimzi.namespace }}.svc:9093"
{{- end }}
{{- if .Values.components.dev }}
KAFKA_BROKERS: "kafka:9092"
{{- end }}
{{- if .Values.components.strimzi }}
KAFKA_SASL_MECHANISM: "scram-sha-512"
KAFKA_SSL: "true"
KAFKA_SSL_CA_FILE: "/etc/postrider/kafka"
{{- end }}
{{- if .Values.components.dev }}
DELIVERY_ALLOW_NETWORKS: "127.0.0.0/8,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16"
TOPIC_PARTITIONS: "3"
{{- end }}
{{- end }}

{{- define "postrider.settings" -}}
{{- $settings := fromYaml (include "postrider.defaults" .) -}}
{{- range $name, $value := .Values.settings }}{{ $_ := set $settings $name (toString $value) }}{{ end -}}
{{- if not (hasKey $settings "KAFKA_BROKERS") }}
{{- fail "settings.KAFKA_BROKERS is missing: set it, or components.strimzi" }}
{{- end }}
{{- toYaml $settings }}
{{- end }}

{{- define "postrider-settings.hash" -}}
{{ include "postrider.settings" . | sha256sum | trunc 10 }}
{{- end }}

{{- define "postrider-resources.hash" -}}
{{ toYaml .Values.resources | sha256sum | trunc 10 }}
{{- end }}
