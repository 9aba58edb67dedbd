/** A running stage, as the composition root sees it. */
export interface Role {
  readonly name: string;
  /** True once it has joined its groups and its configuration is loaded. */
  ready(): boolean;
  /** Stops taking, finishes what is in flight, commits and leaves; gives up waiting after `graceMs`. */
  stop(graceMs: number): Promise<void>;
}
