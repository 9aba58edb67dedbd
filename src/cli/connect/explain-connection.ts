import type { ConnectionProblem } from '../../kafka/connection-problem.ts';
import type { Settings } from '../../settings/table.ts';

/** One sentence that names the settings to look at. */
export function explainConnection(problem: ConnectionProblem, settings: Settings): string {
  const brokers = `the Kafka broker in KAFKA_BROKERS (${settings.kafkaBrokers?.join(',') ?? ''})`;
  switch (problem) {
    case 'broker-untrusted':
      return settings.kafkaSslCaFile === undefined
        ? `${brokers} shows a certificate of an authority that this machine does not know; name a file with it in KAFKA_SSL_CA_FILE`
        : `${brokers} shows a certificate of an authority that is not in KAFKA_SSL_CA_FILE (${settings.kafkaSslCaFile})`;
    case 'broker-certificate-expired':
      return `${brokers} shows a certificate that has expired or is not valid yet; it must be renewed there`;
    case 'broker-certificate-for-other-host':
      return `${brokers} shows a certificate for other names; KAFKA_BROKERS must use one of them`;
    case 'client-certificate-refused':
      return settings.kafkaSslCertFile === undefined
        ? `${brokers} wants a client certificate; set KAFKA_SSL_CERT_FILE and KAFKA_SSL_KEY_FILE`
        : `${brokers} refuses the client certificate in KAFKA_SSL_CERT_FILE (${settings.kafkaSslCertFile}): it has expired, or its authority is not trusted there`;
    case 'credentials-refused':
      return `${brokers} refuses the login with KAFKA_SASL_USERNAME "${settings.kafkaSaslUsername ?? ''}": the name, KAFKA_SASL_PASSWORD or KAFKA_SASL_MECHANISM is wrong`;
    case 'mechanism-not-offered':
      return `${brokers} does not offer KAFKA_SASL_MECHANISM ${settings.kafkaSaslMechanism ?? ''}`;
    case 'sasl-not-offered':
      return `${brokers} takes no login there; unset KAFKA_SASL_MECHANISM, or name its port for logins`;
    case 'sasl-wanted':
      return `${brokers} wants a login; set KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD`;
    case 'tls-not-offered':
      return `${brokers} does not speak TLS there; unset KAFKA_SSL, or name its port for TLS`;
    case 'tls-wanted':
      return `${brokers} speaks TLS only; set KAFKA_SSL=true`;
  }
}
