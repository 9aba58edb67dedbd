/** A Kafka broker, or a cluster of them, for development and tests. It ends with this process. */
export interface DevBroker {
  /** `host:port` each. */
  readonly brokers: readonly string[];
  /** Resolves when it ends without being stopped. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}
