import { exposeGauges, type MetricsRegistry } from '../../ops/metrics.ts';
import { LogThrottles } from '../../ops/log-throttle.ts';
import type { Logger } from '../../ops/log.ts';
import type { CertificateName, Credentials } from '../connect/credentials.ts';
import type { KeyPair } from '../connect/tls-files.ts';

/** Kubernetes brings a changed Secret to a pod a minute or two late, so looking more often gains nothing. */
const lookEveryMs = 10_000;
const dayMs = 86_400_000;
/** So long before a certificate expires the log says so, once a day. */
const warnBeforeMs = 14 * dayMs;

export interface FollowCredentialsOptions {
  readonly metrics: MetricsRegistry;
  readonly log: Logger;
  /** Called with each new pair of the gateway; undefined: it runs elsewhere, and its files may be there alone. */
  readonly onGatewayTls: ((tls: KeyPair) => void) | undefined;
}

export function exposeCertificates(
  metrics: MetricsRegistry,
  credentials: Pick<Credentials, 'expiriesMs'>,
): void {
  exposeGauges(
    metrics,
    'postrider_certificate_expires_timestamp_seconds',
    'When a certificate that is in use expires, in seconds since 1970.',
    'certificate',
    function* () {
      for (const [name, expiresMs] of credentials.expiriesMs()) yield [name, expiresMs / 1_000];
    },
  );
}

/**
 * Clients look at their files whenever they connect. This looks for those that don't: a server, whose
 * clients connect, and whoever wants to know when certificates expire.
 */
export function followCredentials(
  credentials: Credentials,
  { metrics, log, onGatewayTls }: FollowCredentialsOptions,
): { stop(): void } {
  exposeCertificates(metrics, credentials);
  const warnings = new LogThrottles<CertificateName>(dayMs);
  const warnOfExpiry = (): void => {
    const nowMs = Date.now();
    for (const [certificate, expiresMs] of credentials.expiriesMs()) {
      if (expiresMs - nowMs > warnBeforeMs) continue;
      if (warnings.pass(certificate, nowMs) === undefined) continue;
      const expires = new Date(expiresMs).toISOString();
      log.warn({ certificate, expires }, 'a certificate expires soon; renew its file');
    }
  };
  const gatewayTls = (): KeyPair | undefined =>
    onGatewayTls === undefined ? undefined : credentials.gatewayTls();
  let shown = gatewayTls();
  const look = (): void => {
    credentials.look();
    const tls = gatewayTls();
    if (tls !== undefined && tls !== shown) onGatewayTls?.(tls);
    shown = tls;
    warnOfExpiry();
  };
  warnOfExpiry();
  const timer = setInterval(look, lookEveryMs).unref();
  return {
    stop: () => {
      clearInterval(timer);
    },
  };
}
