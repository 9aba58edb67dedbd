/** A running stage, as the composition root sees it. */
export interface Role {
  readonly name: string;
  /** True once the role has joined its groups and loaded its configuration. */
  ready(): boolean;
  /** Stops taking, finishes what is in flight, commits and leaves; gives up waiting after `graceMs`. */
  stop(graceMs: number): Promise<void>;
}
