/** Which broker and which clients are near one another. */
export class Racks {
  readonly #nodes: number;
  readonly exist: boolean;
  /** A node that has lost touch together with the clients in its rack. */
  #cutOffWith: number | undefined;

  /** @param exist false: nobody says where they are */
  constructor(nodes: number, exist: boolean) {
    this.#nodes = nodes;
    this.exist = exist;
  }

  /** The rack of a client that is as near to one of the nodes as to no other. */
  nearTo(index: number): string {
    return this.exist ? rackOf((index % this.#nodes) + 1) : '';
  }

  cutOffWith(nodeId: number): void {
    if (this.exist) this.#cutOffWith = nodeId;
  }

  connect(nodeId: number): void {
    if (this.#cutOffWith === nodeId) this.#cutOffWith = undefined;
  }

  /** Clients that are cut off with a broker reach that one alone, and nobody else reaches it. */
  areConnected(nodeId: number, rack: string): boolean {
    const cutOff = this.#cutOffWith;
    return cutOff === undefined || (cutOff === nodeId) === (rack === rackOf(cutOff));
  }
}

export function rackOf(nodeId: number): string {
  return `rack-${nodeId}`;
}
