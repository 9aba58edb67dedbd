import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { ProviderSettings } from './identity-provider.ts';
import type { RoleRules } from './role-of.ts';

/** The settings that decide who may use the console. */
export interface AccessSettings {
  /** The address that the console listens on. */
  readonly host: string;
  /** Its public origin. */
  readonly url: string | undefined;
  /** The name that pages bear. */
  readonly brand: string;
  /** Undefined: one of this process alone, so a start ends all sessions. */
  readonly sessionKey: Buffer | undefined;
  readonly tokensFile: string | undefined;
  /** Needs `url`, where the provider sends people back to. */
  readonly oidc: OidcSettings | undefined;
}

export interface OidcSettings extends Omit<ProviderSettings, 'callback' | 'roleClaim'> {
  readonly roles: RoleRules;
}

export function hasLogIn({ tokensFile, oidc }: AccessSettings): boolean {
  return tokensFile !== undefined || oidc !== undefined;
}

export function isLoopback(host: string): boolean {
  if (isIP(host) !== 0) return ipaddr.process(host).range() === 'loopback';
  return host.toLowerCase() === 'localhost';
}
