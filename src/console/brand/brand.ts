import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { PostriderError } from '../../errors.ts';
import type { Logger } from '../../ops/log.ts';
import { pageFile, type PageFile } from '../page-file.ts';
import { accentChanges, accentSheet } from './accent.ts';

/** The settings by which the pages look like a part of the platform's own product. */
export interface BrandSettings {
  readonly name: string;
  /** `#rrggbb` */
  readonly accentColor: string | undefined;
  /** An SVG or a PNG. */
  readonly logoFile: string | undefined;
  /** The address that customers' pages lead back to. */
  readonly backUrl: string | undefined;
}

/** The brand as pages get it. */
export interface Brand {
  readonly name: string;
  /** A path on the console. */
  readonly logo?: string | undefined;
  /** A path on the console, of a style sheet. */
  readonly accent?: string | undefined;
  readonly backUrl?: string | undefined;
  /** The files that these paths lead to. */
  readonly files: readonly PageFile[];
}

const mostLogoBytes = 256 * 1024;
const pngSignature = Buffer.from('89504e470d0a1a0a', 'hex');
/** Its root element, behind what XML lets stand before it. */
const svgStart =
  /^\uFEFF?(?:\s|<\?[^>]*\?>|<!--[\s\S]*?-->|<!DOCTYPE[^>[]*(?:\[[^\]]*\])?\s*>)*<svg[\s>]/;

/** @throws PostriderError `setting-invalid` for a logo that is none */
export function readBrand(
  { name, accentColor, logoFile, backUrl }: BrandSettings,
  log: Logger,
): Brand {
  const logo = logoFile === undefined ? undefined : readLogo(logoFile);
  const sheet =
    accentColor === undefined
      ? undefined
      : namedFile('accent', 'css', Buffer.from(accentSheet(accentColor)));
  for (const change of accentColor === undefined ? [] : accentChanges(accentColor))
    log.warn({}, `CONSOLE_ACCENT_COLOR becomes ${change}, and text needs 4.5`);
  return {
    name,
    logo: logo && `/${logo.path}`,
    accent: sheet && `/${sheet.path}`,
    backUrl,
    files: [logo, sheet].filter((each) => each !== undefined),
  };
}

function readLogo(file: string): PageFile {
  const refused = (reason: string, cause?: unknown): PostriderError =>
    new PostriderError('setting-invalid', `CONSOLE_LOGO_FILE names "${file}", ${reason}`, {
      cause,
    });
  let content: Buffer;
  try {
    content = readFileSync(file);
  } catch (cause) {
    throw refused('which cannot be read', cause);
  }
  if (content.length > mostLogoBytes)
    throw refused(`which has ${content.length} bytes; allowed: up to ${mostLogoBytes}`);
  if (content.subarray(0, pngSignature.length).equals(pngSignature))
    return namedFile('logo', 'png', content);
  if (svgStart.test(content.toString())) return namedFile('logo', 'svg', content);
  throw refused('which is neither an SVG nor a PNG');
}

/** Another content has another name, so browsers keep it for ever. */
function namedFile(name: string, extension: string, content: Buffer): PageFile {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 12);
  return pageFile(`brand/${name}-${hash}.${extension}`, content);
}
