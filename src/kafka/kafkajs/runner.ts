/** The part of kafkajs's Runner that is changed here. */
export interface Runner {
  running: boolean;
  readonly consumerGroup: {
    connect(): Promise<void>;
    joinAndSync(): Promise<void>;
    leave(): Promise<void>;
  };
  onCrash(error: unknown): Promise<void>;
  scheduleFetchManager(): void;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * kafkajs's Runner, which can be stopped while it connects and joins, as it does for long after a crash. The
 * original does not notice: it reconnects, joins all the same, and keeps partitions that nobody reads, because
 * its consumer has forgotten it, for as long as the process lives.
 */
export function stoppingWhileJoining(
  Original: new (...parameters: never[]) => Runner,
): new (...parameters: never[]) => Runner {
  return class extends Original {
    #isStopped = false;
    #joining: Promise<void> = Promise.resolve();

    override async start(): Promise<void> {
      const joining = this.#join();
      this.#joining = joining.catch(() => undefined);
      try {
        await joining;
      } catch (error) {
        // Stops this runner: whoever stops one waits for its join, and not for this.
        await this.onCrash(error);
        return;
      }
      if (this.#isStopped) return;
      this.running = true;
      this.scheduleFetchManager();
    }

    override async stop(): Promise<void> {
      this.#isStopped = true;
      await this.#joining;
      if (this.running) await super.stop();
      // As the original does: Kafka forgets a member that it does not hear of.
      else await this.consumerGroup.leave().catch(() => undefined);
    }

    async #join(): Promise<void> {
      await this.consumerGroup.connect();
      // Of the connection alone nothing is left once it is closed.
      if (!this.#isStopped) await this.consumerGroup.joinAndSync();
    }
  };
}
