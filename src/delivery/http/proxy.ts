import { isIP } from 'node:net';
import type { Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { proxyErrorCode, tunnelErrorCode } from './errors.ts';

/** The proxy through which connections leave the network, and the hosts that are reached without it. */
export class Proxy {
  readonly host: string;
  readonly port: number;
  readonly #authorization: string | undefined;
  readonly #without: readonly string[];

  /**
   * @param url `http://user:password@host:port`, as the setting's parser takes it
   * @param without names, which stand for those below them too, addresses and networks
   */
  constructor(url: string, without: readonly string[]) {
    const { hostname, port, username, password } = new URL(url);
    this.host = hostname.replace(/^\[|\]$/g, '');
    this.port = Number(port) || 80;
    const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    this.#authorization = login === ':' ? undefined : Buffer.from(login).toString('base64');
    this.#without = without.map((each) => each.toLowerCase().replace(/^\./, ''));
  }

  /** Without its login, so that logs may show it. */
  get place(): string {
    return `${this.host}:${this.port}`;
  }

  /** @param host as `URL` has parsed it, without brackets and a dot at its end */
  leadsTo(host: string): boolean {
    return !this.#without.some((each) =>
      isIP(host) === 0 ? host === each || host.endsWith(`.${each}`) : isIn(host, each),
    );
  }

  /**
   * Asks for a tunnel on a connection to the proxy (RFC 9110, 9.3.6).
   * @param done called once; after an error the connection is of no use
   */
  askForTunnel(socket: Socket, target: string, done: (error: Error | undefined) => void): void {
    let head = '';
    const end = (error: Error | undefined): void => {
      socket.off('data', read).off('end', ended);
      socket.pause();
      done(error);
    };
    const read = (chunk: Buffer): void => {
      head += chunk.toString('latin1');
      const isWhole = head.includes('\r\n\r\n');
      if (isWhole || head.length > mostHeadCharacters) end(this.#answered(head, isWhole, target));
    };
    const ended = (): void => {
      end(this.failed('closed the connection without an answer'));
    };
    socket.on('data', read).on('end', ended);
    const login =
      this.#authorization === undefined
        ? ''
        : `Proxy-Authorization: Basic ${this.#authorization}\r\n`;
    socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${login}\r\n`);
  }

  /** The error for a fault of the proxy itself. */
  failed(what: string): Error {
    return Object.assign(new Error(`the proxy ${this.place} ${what}`), { code: proxyErrorCode });
  }

  #answered(head: string, isWhole: boolean, target: string): Error | undefined {
    const status = Number(/^HTTP\/1\.[01] (\d{3})(?!\d)/.exec(head)?.[1]);
    if (!isWhole || Number.isNaN(status))
      return this.failed('answers with something that is no HTTP');
    if (status >= 200 && status < 300) return undefined;
    const wantsLogin = status === 407 && /^proxy-authenticate:/im.test(head);
    if (wantsLogin)
      return this.failed(
        this.#authorization === undefined
          ? 'asks for a login, and DELIVERY_PROXY has none'
          : 'refuses the login of DELIVERY_PROXY',
      );
    const what = `answered ${status} to CONNECT ${target}`;
    if (!isAboutTarget(status)) return this.failed(what);
    const code = status === 504 ? 'ETIMEDOUT' : tunnelErrorCode;
    return Object.assign(new Error(`the proxy ${this.place} ${what}`), { code });
  }
}

const mostHeadCharacters = 16_384;

/**
 * Answers that say something of the endpoint: it may not be reached by this proxy, or could not be. smokescreen says
 * 407 for that, without asking for a login. All others are the proxy's own.
 */
function isAboutTarget(status: number): boolean {
  if (status === 429) return false;
  return (status >= 400 && status < 500) || (status >= 502 && status <= 504);
}

function isIn(address: string, network: string): boolean {
  const parsed = ipaddr.process(address);
  if (isIP(network) !== 0) return parsed.toString() === ipaddr.process(network).toString();
  if (!ipaddr.isValidCIDR(network)) return false;
  const [range, bits] = ipaddr.parseCIDR(network);
  return parsed.kind() === range.kind() && parsed.match(range, bits);
}
